"""How a failure looks: values on the edges, the first node that differs, the rule that did it, code to paste."""
