"""Inner products of rows of a matrix with one vector, without a copy of the rows.

Each row's result depends on nothing but the row and the query: not on which rows are asked for together, nor where in
the matrix they lie. A matrix product through BLAS does not promise that, and equal vectors must have equal scores on
every replica. It also copies the rows first, and starts threads for what takes less time than starting them.
"""

import faiss
import numpy as np
from numpy.typing import NDArray

from app.store.base import Vector

Scores = NDArray[np.float32]
Rows = NDArray[np.int64]


def inner_products(matrix: Vector, rows: Rows, query: Vector) -> Scores:
    """matrix[rows] @ query: rows of a float32 matrix, shape (n, d), with a vector, shape (d,) -> shape (len(rows),).

    All zero where the query has another length than the rows.
    """
    if not len(rows) or not matrix.shape[1] or query.shape != matrix.shape[1:]:
        return np.zeros(len(rows), np.float32)
    # The library trusts these blindly, and a wrong address ends the process.
    matrix = np.ascontiguousarray(matrix, np.float32)
    query = np.ascontiguousarray(query, np.float32)
    rows = np.ascontiguousarray(rows, np.int64)
    if rows.min() < 0 or rows.max() >= len(matrix):
        raise IndexError(f"rows must lie in 0 .. {len(matrix) - 1}, got {rows.min()} .. {rows.max()}")
    products = np.empty(len(rows), np.float32)
    pointers = (faiss.swig_ptr(array) for array in (products, query, matrix, rows))
    faiss.fvec_inner_products_by_idx(*pointers, matrix.shape[1], 1, len(rows))  # type: ignore[attr-defined] # not typed
    return products


def every_product(matrix: Vector, query: Vector) -> Scores:
    """Products of all rows, matrix @ query: a fifth faster, but not the same as those above to the last bit.

    For what hangs on no equality: which centroids are near, and how similarities spread.
    """
    if query.shape != matrix.shape[1:]:
        return np.zeros(len(matrix), np.float32)
    matrix = np.ascontiguousarray(matrix, np.float32)
    query = np.ascontiguousarray(query, np.float32)
    products = np.empty(len(matrix), np.float32)
    pointers = (faiss.swig_ptr(array) for array in (products, query, matrix))
    faiss.fvec_inner_products_ny(*pointers, matrix.shape[1], len(matrix))  # type: ignore[attr-defined] # not typed
    return products
