"""Export trained models of scikit-learn, LightGBM and XGBoost: pipelines, linear models, trees, neighbours, clusters.

It needs the converters, which the project does not; make an environment of its own for it:

    python -m venv build/trees
    build/trees/bin/pip install scikit-learn skl2onnx onnxmltools lightgbm xgboost
    build/trees/bin/python -m tests.models_roundtrip.make_trees [name ...]
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from lightgbm import LGBMClassifier, LGBMRegressor
from onnxmltools.convert import convert_lightgbm, convert_xgboost
from onnxmltools.convert.common.data_types import FloatTensorType as ToolsFloats
from skl2onnx import convert_sklearn
from skl2onnx.common.data_types import FloatTensorType
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.mixture import GaussianMixture
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC, SVR
from xgboost import XGBClassifier, XGBRegressor

FOLDER = Path(__file__).parent / "models"
PLAIN = {"zipmap": False}
"""Probabilities as a tensor, not as a sequence of maps."""


def by_sklearn(model: Any, *, opset: int = 17, ml: int = 3, **options: Any) -> Callable[[], onnx.ModelProto]:
    def make() -> onnx.ModelProto:
        x, y = load_iris(return_X_y=True)
        model.fit(x.astype(np.float32), y)
        kind = FloatTensorType([None, 4])
        chosen = {"options": {id(model): options}} if options else {}
        return convert_sklearn(model, initial_types=[("x", kind)], target_opset={"": opset, "ai.onnx.ml": ml}, **chosen)

    return make


def by_tools(model: Any, convert: Callable[..., onnx.ModelProto], **options: Any) -> Callable[[], onnx.ModelProto]:
    def make() -> onnx.ModelProto:
        x, y = load_iris(return_X_y=True)
        model.fit(x.astype(np.float32), y)
        return convert(model, initial_types=[("x", ToolsFloats([None, 4]))], target_opset=15, **options)

    return make


MODELS: dict[str, Callable[[], onnx.ModelProto]] = {
    "sk_pipeline": by_sklearn(
        Pipeline([("scale", StandardScaler()), ("pca", PCA(3)), ("classify", LogisticRegression(max_iter=500))]),
        zipmap=False,
    ),
    "sk_mlp": by_sklearn(MLPClassifier((8, 6), max_iter=60, random_state=0), **PLAIN),
    "sk_polynomial": by_sklearn(
        Pipeline([("range", MinMaxScaler()), ("more", PolynomialFeatures(2)), ("fit", Ridge())]), opset=12, ml=1
    ),
    "sk_forest": by_sklearn(RandomForestClassifier(5, max_depth=3, random_state=0), **PLAIN),
    "sk_boosting": by_sklearn(GradientBoostingRegressor(n_estimators=6, max_depth=2, random_state=0), opset=13),
    "sk_svc": by_sklearn(SVC(probability=False, C=0.1), **PLAIN),
    "sk_svr": by_sklearn(SVR(C=0.1)),
    "sk_bayes": by_sklearn(GaussianNB(), **PLAIN),
    "sk_neighbours": by_sklearn(KNeighborsRegressor(3)),
    "sk_clusters": by_sklearn(KMeans(3, random_state=0, n_init=1)),
    "sk_mixture": by_sklearn(GaussianMixture(3, random_state=0)),
    "sk_gaussian_process": by_sklearn(GaussianProcessRegressor(alpha=1.0)),
    "lightgbm": by_tools(LGBMClassifier(n_estimators=4, num_leaves=5, verbose=-1), convert_lightgbm, zipmap=False),
    "lightgbm_regression": by_tools(LGBMRegressor(n_estimators=4, num_leaves=5, verbose=-1), convert_lightgbm),
    "xgboost": by_tools(XGBClassifier(n_estimators=3, max_depth=2), convert_xgboost),
    "xgboost_regression": by_tools(XGBRegressor(n_estimators=4, max_depth=3), convert_xgboost),
}


def main() -> None:
    warnings.simplefilter("ignore")
    for name in sys.argv[1:] or MODELS:
        made = MODELS[name]()
        made.doc_string = ""
        made.graph.name = name  # random otherwise, as the names of bodies are
        for body in (
            attribute.g for node in made.graph.node for attribute in node.attribute if attribute.HasField("g")
        ):
            body.name = f"{name}_body"
        onnx.save(made, FOLDER / f"{name}.onnx")
        print(name, (FOLDER / f"{name}.onnx").stat().st_size)


if __name__ == "__main__":
    main()
