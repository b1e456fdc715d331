"""A component as a user would write it, outside of the package: absolute values, of all lanes of a beat at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from graphrewrite import FixedPoint, define_op
from graphrewrite.hdl import Component, Site
from graphrewrite.hdl.component import per_beat
from graphrewrite.types import Stream

ENTITY = """-- absolute: the absolute value of each lane.

library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

entity absolute is
  generic (
    LANES         : positive;
    ELEMENT_WIDTH : positive;
    CAPACITY      : positive := 2
  );
  port (
    clk, rst  : in  std_logic;
    x_payload : in  std_logic_vector(LANES * ELEMENT_WIDTH - 1 downto 0);
    x_valid   : in  std_logic;
    x_ready   : out std_logic;
    z_payload : out std_logic_vector(LANES * ELEMENT_WIDTH - 1 downto 0);
    z_valid   : out std_logic;
    z_ready   : in  std_logic
  );
end entity;

architecture rtl of absolute is
  signal room, step : std_logic;
  signal beat : std_logic_vector(z_payload'range);
begin

  x_ready <= room;
  step    <= room and x_valid;

  lane : for i in 0 to LANES - 1 generate
    signal x : std_logic_vector(ELEMENT_WIDTH - 1 downto 0);
  begin
    x <= x_payload((i + 1) * ELEMENT_WIDTH - 1 downto i * ELEMENT_WIDTH);
    beat((i + 1) * ELEMENT_WIDTH - 1 downto i * ELEMENT_WIDTH)
      <= std_logic_vector(-signed(x)) when x(ELEMENT_WIDTH - 1) = '1' else x;
  end generate;

  z_buffer : entity work.stream_buffer
    generic map (WIDTH => LANES * ELEMENT_WIDTH, CAPACITY => CAPACITY)
    port map (
      clk => clk, rst => rst, reserve => step, room => room, push => step, payload => beat,
      z_payload => z_payload, z_valid => z_valid, z_ready => z_ready
    );

end architecture;
"""


def _infer(x: Any) -> Stream:
    return Stream(FixedPoint(False, x.element.width, x.element.fraction), x.shape, x.lanes)


@define_op(level="stream", infer=_infer)
def absolute(x: np.ndarray) -> np.ndarray:
    """Return absolute values."""
    return np.abs(x.astype(np.int64))


def generics(site: Site) -> dict[str, Any]:
    x = site.operands[0]
    return {"LANES": x.lanes, "ELEMENT_WIDTH": x.element.width}


def component(folder: Path, *changes: tuple[str, str], **parts: Callable[..., Any]) -> Component:
    """The component, its file in a folder, with changes to its text and other parts."""
    text = ENTITY
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    file = folder / "absolute.vhd"
    file.write_text(text)
    return Component(absolute, file, **{"generics": generics, "schedule": per_beat, **parts})


def draw(rng: np.random.Generator) -> Site:
    lanes, folds = (int(n) for n in rng.integers(1, 4, 2))
    x = Stream(FixedPoint(True, int(rng.integers(1, 25))), (lanes * folds, int(rng.integers(1, 6))), lanes)
    return Site.of(absolute, x)
