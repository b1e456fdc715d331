"""The engine: from `graphrewrite.rewrite` to an edit of the graph.

In the order in which a rewrite passes through them:

========================  ============================================================================================
`entry`                   `rewrite`: copy the graph or keep a journal, run the engine, undo on failure; modules
`members`                 the interface of rules and passes, of which the engine imports none
`strategy`                options: order, selection and measure
`engine`                  the loop: take a node, try the rules there, apply the edit, queue the affected nodes
`rule_index`              the rules that can match at a node, by its type and an operand's type
`work_list`               the nodes that are still to be looked at, in a stable order
`attempt`                 one rule at one node: its matches (`graphrewrite.rewriting.match`), each with its edit
`plan`                    from a match and its replacement to an edit; all checks come before the first change
`affected_nodes`          the nodes at which an edit can have enabled a match
`journal`                 the steps so far, to undo them
========================  ============================================================================================

`graphrewrite.graph.edit` applies and reverts edits. Most rules take the fast path of `graphrewrite.rewriting.fused`,
which does the work of `attempt`, `plan` and `edit` in one generated function.
"""
