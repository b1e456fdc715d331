"""One rule for each form of the pattern language."""

from __future__ import annotations

from graphrewrite import Constant, Rule, define_op, op, rule


@define_op(results=2, infer=lambda x: (x, x))
def signs(x):
    """What is above zero, and what is below."""
    return x * (x > 0), x * (x < 0)


@rule(keeps="assumes")
def several_ops(x, w):
    """Layers of either kind, followed by relu."""
    layer = (op.linear | op.matmul)(x, w)
    yield op.relu(layer)
    return op.maximum(layer.op(x, w, like=layer), 0)


@rule
def any_of_them(xs):
    """Whatever is passed through the identity is itself."""
    inner = rule.any_op(*xs)
    yield op.identity(inner)
    return inner.op(*xs, like=inner)


@rule
def variadic(xs, y, zs):
    """The identity of a part of a concat is that part."""
    joined = op.concat(*xs, op.identity(y), *zs)
    yield joined
    return op.concat(*xs, y, *zs, like=joined)


@rule
def optional_bias(x, w, b=None):
    """A layer with or without a bias."""
    yield op.neg(op.neg(op.linear(x, w, b)))
    return op.linear(x, w, b)


@rule(keeps="assumes")
def literal_set(x):
    """A factor of one or minus one."""
    product = op.mul(x, {1, -1})
    yield op.abs(product)
    if x.type != product.type:
        return rule.decline("the factor broadcasts the other operand", at=product)
    return op.abs(x)


@rule
def literal_range(x):
    """A rectified number is not below zero."""
    size = op.relu(x)
    most = op.maximum(size, range(-3, 1))
    yield most
    return size if most.type == size.type else rule.decline("the limit broadcasts the other operand", at=most)


@rule(keeps="assumes")
def either_operand(x):
    """The absolute value, a minus before or not."""
    yield op.abs(op.neg(x) | op.identity(x) | x)
    return op.maximum(x, op.neg(x))


@rule
def options_with_variables_of_their_own(x, y):
    """The absolute value of a relu, or of a minus."""
    yield op.abs(op.relu(x) | op.neg(y))
    return op.relu(x) if x else op.abs(y)


@rule
def shapes_of_values(x: rule.where(lambda v: v.type.element == "f32" and len(v.shape) == 2, "a matrix of f32")):
    """A transposed matrix."""
    yield op.transpose(op.transpose(x, perm=(1, 0)), perm=(1, 0))
    return x


@rule
def anonymous_condition(x):
    """A rectified number is not below what is below zero."""
    size = op.relu(x)
    most = op.maximum(size, rule.where(lambda v: v.is_constant and (v.value < 0).all(), "a constant below zero"))
    yield most
    return size if most.type == size.type else rule.decline("the limit broadcasts the other operand", at=most)


@rule
def condition_on_a_constant(x, c: rule.where(lambda v: v.is_constant and v.value.size == 1, "one number")):
    """Subtracting a number is adding its negative."""
    yield op.sub(x, c)
    return op.add(x, -c.value)


@rule
def attributes_that_fit(x, s):
    """A pool with conditions on its attributes."""
    pool = op.max_pool(
        x, kernel=rule.where(lambda k: set(k) == {1}, "one pixel"), strides=s, pads={(0, 0), (0, 0, 0, 0)}
    )
    yield pool
    if any(step != 1 for step in s):
        return rule.decline(f"it leaves out pixels, for its strides are {s}", at=pool)
    return x


@rule
def chain(x):
    """Several relus are one."""
    yield rule.repeated(x, op.relu, least=2)
    return op.relu(x)


@rule(keeps="rounding")
def chain_with_variables(x):
    """Differences one after the other are one from the sum."""
    run = rule.repeated(x, lambda below, c: below - c, least=2)
    yield run
    total = run.c[0]
    for c in run.c[1:]:
        total = op.add(total, c)
    return op.sub(x, total)


@rule
def chain_of_pairs(x):
    """Minus and identity in turns."""
    run = rule.repeated(x, lambda below: op.neg(op.identity(below)))
    yield run
    return op.neg(x) if len(run) % 2 else x


@rule
def group(x):
    """All relus of a value are one."""
    relus = rule.every(x, op.relu)
    yield relus
    shared = op.relu(x)
    return [shared for _ in relus.nodes]


@rule
def group_with_variables(x):
    """Differences of one value and several others."""
    differences = rule.every(x, lambda w: x - w)
    yield differences
    return [op.add(x, op.neg(w)) for w in differences.w]


@rule(keeps="assumes")
def results_of_one(x: rule.where(lambda v: v.type.element == "f32", "of f32")):
    """Both results are replaced."""
    positive, negative = signs(x)
    yield positive, negative
    return op.relu(x), op.minimum(x, 0)


@rule(keeps="assumes")
def result_read(x):
    """The second result is read."""
    _, negative = signs(x)
    yield op.neg(negative)
    return op.neg(op.minimum(x, 0))


@rule
def two_components(x, y):
    """Two readers of one value."""
    yield op.sub(x, y), op.relu(x)
    return op.add(x, op.neg(y)), op.clip(x, low=0)


@rule
def operand_that_is_not(x, y, w):
    """A difference from what is no product."""
    other = ~op.matmul(y, w)
    yield op.sub(x, other)
    return op.add(x, op.neg(other))


@rule
def nowhere(x):
    """Minus twice, where nothing takes the softmax."""
    inner = op.neg(op.neg(x))
    yield inner, ~op.softmax(inner)
    return x


@rule(keeps="rounding")
def narrowed(x, c: Constant):
    """A constant added twice."""
    yield op.add(op.add(x, c), c)
    return op.add(x, op.add(c, c))


FORMS = [found for found in list(vars().values()) if isinstance(found, Rule)]
