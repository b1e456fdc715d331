"""The rewrite viewer: a trace, step by step, as a page that needs neither a network nor a server."""

from graphrewrite.view.stepper.content import Binding, Card, DiffLine, Frame, Link, Shape, Stepper
from graphrewrite.view.stepper.page import StepperDisplay, show_trace

__all__ = ["Binding", "Card", "DiffLine", "Frame", "Link", "Shape", "Stepper", "StepperDisplay", "show_trace"]
