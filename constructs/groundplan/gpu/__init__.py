"""The gpu stack: the fabric and the GPU pools."""
