"""What instructions do: typed programs of a closed set of operations, one definition per mnemonic.

Importing the package registers all definitions with `mfma.emulator.semantics.registry`.
"""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__, __name__ + "."):
    import_module(_module.name)
