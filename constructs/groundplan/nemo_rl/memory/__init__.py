"""A forecast of memory by parts: GPU (training and generation), host and disk, and a rough one of time.

``parameters`` counts a model, ``activations`` says what a layer keeps for the backward pass, ``dtensor`` and
``megatron`` put a training step together, ``allocator`` says what PyTorch reserves beside it, ``generation`` is vLLM's
side, and ``forecast`` compares all of it with a GPU. Sizes are bytes inside and GB of 10^9 bytes outside.
docs/memory.md has the parts, the measurements and the errors.
"""
