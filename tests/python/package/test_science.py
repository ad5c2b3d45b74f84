"""scikit-learn and SciPy compute with tensors (conftest.py sets SCIPY_ARRAY_API)."""
import numpy as np
import pandas as pd
import pytest
import scipy.special
import scipy.stats
import sklearn
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Ridge

import wellposed as wp

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4)) @ np.diag([5.0, 2.0, 1.0, 0.1])
y = (X[:, 0] > 0).astype(np.int64)


def test_estimators_take_tensors_and_give_tensors():
    with sklearn.config_context(array_api_dispatch=True):
        pca = PCA(n_components=2, svd_solver="full").fit(wp.asarray(X))
        assert isinstance(pca.components_, wp.Tensor)
        t = pca.transform(wp.asarray(X))
        assert isinstance(t, wp.Tensor)
        ridge = Ridge(solver="svd").fit(wp.asarray(X), wp.asarray(X[:, 1]))
        assert isinstance(ridge.coef_, wp.Tensor)
        lda = LinearDiscriminantAnalysis().fit(wp.asarray(X), wp.asarray(y))
        predicted = lda.predict(wp.asarray(X))
    expected = PCA(n_components=2, svd_solver="full").fit(X)
    np.testing.assert_allclose(np.abs(np.asarray(t)), np.abs(expected.transform(X)), rtol=1e-9)
    np.testing.assert_allclose(np.asarray(ridge.coef_), Ridge(solver="svd").fit(X, X[:, 1]).coef_, rtol=1e-9)
    np.testing.assert_array_equal(np.asarray(predicted), LinearDiscriminantAnalysis().fit(X, y).predict(X))


def test_scipy_takes_tensors_and_gives_tensors():
    x = wp.asarray([0.5, 1.5, 2.5])
    got = scipy.special.logsumexp(x)
    assert isinstance(got, wp.Tensor)
    assert got.item() == pytest.approx(scipy.special.logsumexp([0.5, 1.5, 2.5]))
    assert isinstance(scipy.stats.zscore(x), wp.Tensor)


def test_labels_of_a_data_frame_reach_the_message():
    frame = pd.DataFrame([[1.0, 2.0], [2.0, 4.0]], columns=["height", "weight"], index=["height", "weight"])
    assert wp.asarray(frame).shape == (2, 2)
    with pytest.raises(wp.SingularMatrix, match="weight"):
        wp.linalg.inv(frame)
    assert wp.asarray(pd.Series([1.0, 2.0])).tolist() == [1.0, 2.0]
