/* Dense kernels of the LU factorization, written so that the inner loops run along rows. */
#include "lu.h"

static void row_subtract(double* restrict target, double factor, const double* restrict row,
                         long count) {
    for (long j = 0; j < count; j++)
        target[j] -= factor * row[j];
}

void block_factor(double* a, long n) {
    for (long k = 0; k < n; k++) {
        for (long i = k + 1; i < n; i++) {
            a[i * n + k] /= a[k * n + k];
            row_subtract(a + i * n + k + 1, a[i * n + k], a + k * n + k + 1, n - k - 1);
        }
    }
}

void block_divide_by_upper(double* a, const double* d, long rows, long cols) {
    for (long i = 0; i < rows; i++) {
        double* row = a + i * cols;
        for (long k = 0; k < cols; k++) {
            row[k] /= d[k * cols + k];
            row_subtract(row + k + 1, row[k], d + k * cols + k + 1, cols - k - 1);
        }
    }
}

void block_divide_by_lower(double* a, const double* d, long rows, long cols) {
    for (long k = 0; k < rows; k++)
        for (long i = k + 1; i < rows; i++)
            row_subtract(a + i * cols, d[i * rows + k], a + k * cols, cols);
}

void block_subtract_product(double* c, const double* a, const double* b, long rows, long inner,
                            long cols) {
    for (long i = 0; i < rows; i++)
        for (long k = 0; k < inner; k++)
            row_subtract(c + i * cols, a[i * inner + k], b + k * cols, cols);
}
