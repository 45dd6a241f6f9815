"""The explorer: one web page that shows where every element of every dense instruction sits, and why.

`page` returns it, complete in one string: no network, no build step. Its data are the tables of `tables`, taken from
the layout objects; the script of the page looks up and draws, and computes no placement of its own.
"""

from mfma.integrations.explorer.document import page
from mfma.integrations.explorer.tables import tables

__all__ = ["page", "tables"]
