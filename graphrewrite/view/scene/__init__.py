"""Scenes: the content of pictures as data."""

from graphrewrite.view.scene.content import Arrow, Box, Frame, Legend, Scene
from graphrewrite.view.scene.graph import scene_of

__all__ = ["Arrow", "Box", "Frame", "Legend", "Scene", "scene_of"]
