/* VarTS on the paper's Gaussian problem in C by somebody who minds every nanosecond.
 *
 * It does what naive.c does, and every round still draws every arm. What is different was measured,
 * each step by itself:
 * - What a draw needs of an arm lies side by side and is worked out when the arm is pulled: the d and
 *   c of its Gamma d (1 + c x)^3, and the squared scale for which mu + z sqrt(scale / (1 + c x)^3)
 *   is the draw. A reward updates the posterior itself; n, mean and m2 are not kept.
 * - The generator is SplitMix64, that of varts: one addition a word, so that draws overlap. wyrand
 *   would save a seventh with 10 arms, but samplers are compared here, not generators.
 * - The ziggurat compares whole numbers and multiplies once; its edges, one draw in a hundred, and
 *   the logarithms of the Gamma, one in ten, are calls out of the way.
 * - All draws are made before the largest is looked for. To compare squares with the largest so far,
 *   which saves most roots, takes half as long again with 10 or 32 arms: the comparison cannot be
 *   predicted, and what follows waits for it. So does leaving out the Gamma of a draw below zero.
 */
#include "naive.c"

typedef struct { double mu, scale, d, c; } arm_t;

static double width[256];
static int64_t sure[256];

static void fast_tables(void) {
    tables();
    for (int i = 0; i < 256; i++) {
        width[i] = zx[i] * 0x1p-52;
        sure[i] = (int64_t)(zx[i + 1] / zx[i] * 0x1p52);
    }
}

static inline uint64_t word(uint64_t *state) {
    uint64_t z = (*state += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

static inline double unit(uint64_t *state) { return (double)(int64_t)(word(state) >> 11) * 0x1p-53; }

static __attribute__((noinline, cold)) double at_the_edge(uint64_t *state, int i, double x) {
    for (;;) {
        if (i == 0) {
            double a, b;
            do {
                a = -log(1 - unit(state)) / zx[1];
                b = -log(1 - unit(state));
            } while (2 * b <= a * a);
            return x < 0 ? -zx[1] - a : zx[1] + a;
        }
        if (zf[i] + unit(state) * (zf[i + 1] - zf[i]) < exp(-0.5 * x * x)) return x;
        uint64_t bits = word(state);
        int64_t place = (int64_t)bits >> 11;
        i = (int)(bits & 255);
        x = (double)place * width[i];
        if (llabs(place) < sure[i]) return x;
    }
}

static inline double fast_normal(uint64_t *state) {
    uint64_t bits = word(state);
    int i = (int)(bits & 255);
    int64_t place = (int64_t)bits >> 11;
    double x = (double)place * width[i];
    return __builtin_expect(llabs(place) < sure[i], 1) ? x : at_the_edge(state, i, x);
}

static __attribute__((noinline, cold)) int by_logarithms(double u, double x2, double d, double v) {
    return log(u) < 0.5 * x2 + d * (1 - v + log(v));
}

static inline double gamma_over_d(uint64_t *state, double d, double c) {
    for (;;) {
        double x = fast_normal(state), v = 1 + c * x;
        if (__builtin_expect(v <= 0, 0)) continue;
        v = v * v * v;
        double u = unit(state), x2 = x * x;
        if (__builtin_expect(u < 1 - 0.0331 * x2 * x2, 1) || by_logarithms(u, x2, d, v)) return v;
    }
}

static void *play_well(void *argument) {
    job_t *job = argument;
    int K = job->K;
    double *memory = malloc(sizeof(double) * 5 * (size_t)K);
    double *truth = memory, *sigma = truth + K, *kappa = sigma + K, *beta = kappa + K;
    double *drawn = beta + K, d0 = job->alpha0 - 1.0 / 3;
    arm_t *arms = malloc(sizeof(arm_t) * (size_t)K);
    for (int run = job->first; run < job->last; run++) {
        rng_t start;
        seed(&start, job->key + 0x632BE59BD9B4E019ull * (uint64_t)(run + 1));
        uint64_t state = start.s[0];
        double best = -INFINITY, regret = 0;
        arm_t prior = {0, job->beta0 / (job->kappa0 * d0), d0, 1 / sqrt(9 * d0)};
        for (int i = 0; i < K; i++) {
            sigma[i] = sqrt(job->beta0 / (d0 * gamma_over_d(&state, d0, prior.c)));
            truth[i] = job->mu0[i] + fast_normal(&state) * sigma[i] / sqrt(job->kappa0);
            if (truth[i] > best) best = truth[i];
            kappa[i] = job->kappa0;
            beta[i] = job->beta0;
            prior.mu = job->mu0[i];
            arms[i] = prior;
        }
        for (int t = 0; t < job->horizon; t++) {
            for (int i = 0; i < K; i++) {
                const arm_t *a = &arms[i];
                double v = gamma_over_d(&state, a->d, a->c);
                drawn[i] = a->mu + fast_normal(&state) * sqrt(a->scale / v);
            }
            double top = -INFINITY;
            for (int i = 0; i < K; i++) top = drawn[i] > top ? drawn[i] : top;
            int arm = 0;
            while (drawn[arm] != top) arm++;
            arm_t *a = &arms[arm];
            double step = truth[arm] + sigma[arm] * fast_normal(&state) - a->mu, before = kappa[arm];
            kappa[arm] += 1;
            a->mu += step / kappa[arm];
            beta[arm] += 0.5 * step * step * before / kappa[arm];
            a->d += 0.5;
            a->c = 1 / sqrt(9 * a->d);
            a->scale = beta[arm] / (kappa[arm] * a->d);
            regret += best - truth[arm];
        }
        job->final[run] = regret;
    }
    free(memory);
    free(arms);
    return NULL;
}

void expert_varts(int K, int horizon, int runs, uint64_t key, const double *mu0, double kappa0,
                  double alpha0, double beta0, int threads, double *final) {
    fast_tables();
    job_t all = {K, horizon, 0, runs, key, mu0, kappa0, alpha0, beta0, final};
    in_threads(play_well, all, threads);
}
