"""Random instances of patterns, and random graphs around them, all of them well-typed.

From the top:

- ``builder`` grows a graph: random nodes, and instances of patterns. ``exploring`` keeps instances at which a rule
  answers as it seldom does, led there by what it compares (``comparing``), ``overlap`` lets two patterns share nodes,
  ``patterns`` makes random ones.
- ``instance`` plans an instance of a pattern: ``unfolding`` reads the pattern as plain nodes and leaves. ``backward``
  begins with what the roots give, and reads in ``tables`` (``layers``, ``mantissas``) what an op needs for that
  (``demand``). ``forward`` begins with the leaves, and asks the ops. ``varying`` changes a plan a little. A ``plan``
  holds types, attributes and constants (``arrays``); ``indices`` keeps indices within their operands.
- ``proposing`` makes cases of an op for a first operand. ``experience`` remembers what the op was found to take, and
  ``searching`` finds that out: ``fitting`` mends sizes until the inference accepts, with sizes that note what they are
  compared with (``tracing``).
- ``options`` lists values to try for an attribute, ``sequences`` those that are sequences. ``joint`` and ``suggested``
  know the few attributes and operands that trying hardly finds. ``kinds`` are element types and numbers of axes.
"""
