"""cdktf and its provider packages for any cdktf program: the same typed classes, in half a second instead of fifteen.

Name the provider modules once, before cdktf is imported, then import as usual::

    import fast_bindings

    fast_bindings.load({"google": ["provider", "compute_network"]}, name="my-site")
    from cdktf_cdktf_provider_google.compute_network import ComputeNetwork

Where a library brings a list, add your own: ``load(LIBRARY_MODULES, extra={"google": ["compute_instance"]})``.

A provider's root package imports each of its submodules (1,470 for google), and Node requires as many, though a
program uses some forty. Two measures avoid that. Neither changes anything on disk, so type checkers see the packages
as they are, and the output is the same byte for byte:

- a stand-in for the root package in Python, which imports a submodule when it is asked for;
- a slim assembly for Node (:mod:`fast_bindings.slim`), made of the named modules.

Both lean on parts of jsii that carry no promise. Where one is missing or fails, the ordinary way is taken, which is
slower and never wrong. Arguments are checked as cdktf checks them, but for code in :func:`spared_type_checks`.

Environment variables, which begin with the program's name (``MY_SITE_`` above, ``FAST_BINDINGS_`` if it gives none):

- ``..._PLAIN_IMPORTS=1``: none of this; only a Node is looked for.
- ``..._EXTRA_MODULES=google.compute_instance,kubernetes.deployment_v1``: more modules.
- ``..._CACHE``: the folder for slim assemblies and for what jsii unpacks (default: the program's name in
  ``XDG_CACHE_HOME`` or ``~/.cache``).
- ``..._DEBUG=1``: say on stderr when the ordinary way is taken, and why.
- ``JSII_NODE``: the Node to use (:mod:`fast_bindings.node`).
"""

from fast_bindings.loader import load, stop
from fast_bindings.node import BindingsError, use_node
from fast_bindings.type_checks import spared_type_checks

__all__ = ["BindingsError", "load", "spared_type_checks", "stop", "use_node"]
