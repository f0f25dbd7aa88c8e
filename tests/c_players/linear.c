/* LinearVarTS on LinearBandit(K, d) in straightforward C: what one would write by hand.
 *
 * The constant is a feature like the others. An arm has the Cholesky factor L of its precision, its
 * coefficients m and the two numbers of its noise variance. Every round draws every arm: x'm, one
 * triangular solve for the width, a normal and a Gamma. The pulled arm's factor gets a rank-one
 * update, and its coefficients follow from two triangular solves. Random numbers are naive.c's.
 */
#include "naive.c"

static void forward(int D, const double *L, const double *x, double *u) {  /* L u = x */
    for (int j = 0; j < D; j++) {
        double sum = x[j];
        for (int k = 0; k < j; k++) sum -= L[j * D + k] * u[k];
        u[j] = sum / L[j * D + j];
    }
}

static void backward(int D, const double *L, const double *x, double *u) {  /* L'u = x */
    for (int j = D - 1; j >= 0; j--) {
        double sum = x[j];
        for (int k = j + 1; k < D; k++) sum -= L[k * D + j] * u[k];
        u[j] = sum / L[j * D + j];
    }
}

static void update(int D, double *L, double *x) {  /* the factor of L L' + x x' */
    for (int k = 0; k < D; k++) {
        double old = L[k * D + k], r = sqrt(old * old + x[k] * x[k]), c = r / old, s = x[k] / old;
        L[k * D + k] = r;
        for (int j = k + 1; j < D; j++) {
            L[j * D + k] = (L[j * D + k] + s * x[j]) / c;
            x[j] = c * x[j] - s * L[j * D + k];
        }
    }
}

/* A prior of the same four numbers for every arm: coefficients are worth `kappa` rewards each. */
void linear_varts(int K, int d, int horizon, int runs, uint64_t key, double kappa, double alpha0,
                  double beta0, double *final) {
    tables();
    int D = d + 1;
    size_t square = (size_t)D * (size_t)D, all = (size_t)K * (size_t)D;
    double *memory = calloc((size_t)K * square + 3 * all + 6 * (size_t)D + 4 * (size_t)K, sizeof(double));
    double *L = memory, *m = L + (size_t)K * square, *sum = m + all, *theta = sum + all;
    double *x = theta + all, *u = x + D, *w = u + D, *sigma = w + D, *a = sigma + K, *b = a + K;
    double *mean = b + K;
    for (int run = 0; run < runs; run++) {
        rng_t r;
        seed(&r, key + 0x632BE59BD9B4E019ull * (uint64_t)(run + 1));
        double regret = 0;
        for (int i = 0; i < K; i++) {
            sigma[i] = 1 / sqrt(gamma_draw(&r, alpha0) / beta0);
            for (int j = 0; j < D; j++) {
                theta[i * D + j] = normal(&r) * sigma[i] / sqrt(kappa);
                m[i * D + j] = sum[i * D + j] = 0;
                for (int k = 0; k < D; k++)
                    L[(size_t)i * square + (size_t)(j * D + k)] = j == k ? sqrt(kappa) : 0;
            }
            a[i] = alpha0;
            b[i] = beta0;
        }
        for (int t = 0; t < horizon; t++) {
            int arm = 0;
            double top = -INFINITY, best = -INFINITY;
            x[0] = 1;
            for (int j = 1; j < D; j++) x[j] = normal(&r);
            for (int i = 0; i < K; i++) {
                double loc = 0, width = 0;
                mean[i] = 0;
                for (int j = 0; j < D; j++) {
                    loc += x[j] * m[i * D + j];
                    mean[i] += x[j] * theta[i * D + j];
                }
                if (mean[i] > best) best = mean[i];
                forward(D, L + (size_t)i * square, x, u);
                for (int j = 0; j < D; j++) width += u[j] * u[j];
                double lam = gamma_draw(&r, a[i]) / b[i];
                double draw = loc + normal(&r) * sqrt(width / lam);
                if (draw > top) { top = draw; arm = i; }
            }
            double reward = mean[arm] + sigma[arm] * normal(&r), error = reward, square_width = 0;
            double *own = L + (size_t)arm * square;
            forward(D, own, x, u);
            for (int j = 0; j < D; j++) {
                error -= x[j] * m[arm * D + j];
                square_width += u[j] * u[j];
                sum[arm * D + j] += x[j] * reward;
                w[j] = x[j];
            }
            a[arm] += 0.5;
            b[arm] += 0.5 * error * error / (1 + square_width);
            update(D, own, w);
            forward(D, own, sum + arm * D, u);
            backward(D, own, u, m + arm * D);
            regret += best - mean[arm];
        }
        final[run] = regret;
    }
    free(memory);
}
