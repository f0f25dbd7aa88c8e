/* VarTS on the paper's Gaussian problem in straightforward C: what one would write by hand.
 *
 * Every round draws every arm: a Gamma (Marsaglia & Tsang, with squeeze) and a normal (ziggurat,
 * 256 layers) from one xoshiro256++ stream a run. Posterior parameters are kept per arm and only
 * the pulled arm's are updated. Nothing here is clever; the compiler gets -O3 -march=native.
 */
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct { uint64_t s[4]; } rng_t;

static double zx[257], zf[257];

static uint64_t rotl(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

static inline uint64_t next(rng_t *r) {
    uint64_t *s = r->s, result = rotl(s[0] + s[3], 23) + s[0], t = s[1] << 17;
    s[2] ^= s[0]; s[3] ^= s[1]; s[1] ^= s[2]; s[0] ^= s[3]; s[2] ^= t; s[3] = rotl(s[3], 45);
    return result;
}

static void seed(rng_t *r, uint64_t key) {
    for (int i = 0; i < 4; i++) {  /* SplitMix64 */
        uint64_t z = (key += 0x9E3779B97F4A7C15ull);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
        r->s[i] = z ^ (z >> 31);
    }
}

static inline double uniform(rng_t *r) { return (double)(next(r) >> 11) * 0x1p-53; }

static void tables(void) {
    const double tail = 3.6541528853610088, area = 0.00492867323399;
    zx[0] = area / exp(-0.5 * tail * tail);
    zx[1] = tail;
    for (int i = 2; i < 256; i++)
        zx[i] = sqrt(-2 * log(area / zx[i - 1] + exp(-0.5 * zx[i - 1] * zx[i - 1])));
    zx[256] = 0;
    for (int i = 0; i < 257; i++) zf[i] = exp(-0.5 * zx[i] * zx[i]);
    zf[0] = zf[1];
}

static inline double normal(rng_t *r) {
    for (;;) {
        uint64_t word = next(r);
        int i = (int)(word & 255);
        double x = (double)((int64_t)word >> 11) * 0x1p-52 * zx[i];
        if (fabs(x) < zx[i + 1]) return x;
        if (i == 0) {
            double a, b;
            do {
                a = -log(1 - uniform(r)) / zx[1];
                b = -log(1 - uniform(r));
            } while (2 * b <= a * a);
            return x < 0 ? -zx[1] - a : zx[1] + a;
        }
        if (zf[i] + uniform(r) * (zf[i + 1] - zf[i]) < exp(-0.5 * x * x)) return x;
    }
}

static inline double gamma_draw(rng_t *r, double shape) {
    double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        double x = normal(r), v = 1 + c * x;
        if (v <= 0) continue;
        v = v * v * v;
        double u = uniform(r), x2 = x * x;
        if (u < 1 - 0.0331 * x2 * x2 || log(u) < 0.5 * x2 + d * (1 - v + log(v))) return d * v;
    }
}

typedef struct {
    int K, horizon, first, last;
    uint64_t key;
    const double *mu0;
    double kappa0, alpha0, beta0;
    double *final;
} job_t;

static void *play(void *argument) {
    job_t *job = argument;
    int K = job->K;
    double *memory = malloc(sizeof(double) * 9 * (size_t)K);
    double *truth = memory, *sigma = truth + K, *n = sigma + K, *mean = n + K, *m2 = mean + K;
    double *mu = m2 + K, *kappa = mu + K, *alpha = kappa + K, *beta = alpha + K;
    for (int run = job->first; run < job->last; run++) {
        rng_t r;
        seed(&r, job->key + 0x632BE59BD9B4E019ull * (uint64_t)(run + 1));
        double best = -INFINITY, regret = 0;
        for (int i = 0; i < K; i++) {
            double lam = gamma_draw(&r, job->alpha0) / job->beta0;
            sigma[i] = 1 / sqrt(lam);
            truth[i] = job->mu0[i] + normal(&r) * sigma[i] / sqrt(job->kappa0);
            if (truth[i] > best) best = truth[i];
            n[i] = mean[i] = m2[i] = 0;
            mu[i] = job->mu0[i];
            kappa[i] = job->kappa0;
            alpha[i] = job->alpha0;
            beta[i] = job->beta0;
        }
        for (int t = 0; t < job->horizon; t++) {
            int arm = 0;
            double top = -INFINITY;
            for (int i = 0; i < K; i++) {
                double lam = gamma_draw(&r, alpha[i]) / beta[i];
                double x = mu[i] + normal(&r) / sqrt(kappa[i] * lam);
                if (x > top) { top = x; arm = i; }
            }
            double x = truth[arm] + sigma[arm] * normal(&r), step = x - mean[arm], gap;
            n[arm] += 1;
            mean[arm] += step / n[arm];
            m2[arm] += step * (x - mean[arm]);
            kappa[arm] = job->kappa0 + n[arm];
            alpha[arm] = job->alpha0 + 0.5 * n[arm];
            gap = mean[arm] - job->mu0[arm];
            mu[arm] = (job->kappa0 * job->mu0[arm] + n[arm] * mean[arm]) / kappa[arm];
            beta[arm] = job->beta0 + 0.5 * m2[arm]
                        + 0.5 * job->kappa0 * n[arm] * gap * gap / kappa[arm];
            regret += best - truth[arm];
        }
        job->final[run] = regret;
    }
    free(memory);
    return NULL;
}

/* Let every thread play its share of the runs. */
static void in_threads(void *(*player)(void *), job_t all, int threads) {
    int runs = all.last;
    pthread_t *ids = malloc(sizeof(pthread_t) * (size_t)threads);
    job_t *jobs = malloc(sizeof(job_t) * (size_t)threads);
    for (int i = 0; i < threads; i++) {
        jobs[i] = all;
        jobs[i].first = (int)((long)runs * i / threads);
        jobs[i].last = (int)((long)runs * (i + 1) / threads);
        pthread_create(&ids[i], NULL, player, &jobs[i]);
    }
    for (int i = 0; i < threads; i++) pthread_join(ids[i], NULL);
    free(ids);
    free(jobs);
}

void naive_varts(int K, int horizon, int runs, uint64_t key, const double *mu0, double kappa0,
                 double alpha0, double beta0, int threads, double *final) {
    tables();
    in_threads(play, (job_t){K, horizon, 0, runs, key, mu0, kappa0, alpha0, beta0, final}, threads);
}
