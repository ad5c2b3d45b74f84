// Included once per instruction set.

// Counts of 32 bits: they become doubles in one instruction.
inline void ramp(double* __restrict out, double first, int n, double start, double step) {
  for (int i = 0; i < n; ++i) out[i] = __builtin_fma(first + i, step, start);
}

// Two products and their sum with the rounding errors beside them (Dekker, Knuth), divided with one correction.
inline void spread(double* __restrict out, double first, int n, double start, double stop, double parts,
                   double back) {
  const double inverse = 1 / parts;
  for (int i = 0; i < n; ++i) {
    const double k = first + i, rest = parts - k;
    const double p = k * stop, q = rest * start, sum = p + q;
    const double p_error = __builtin_fma(k, stop, -p), q_error = __builtin_fma(rest, start, -q);
    const double seen = sum - p, sum_error = (p - (sum - seen)) + (q - seen);
    const double low = sum_error + (p_error + q_error);
    const double quotient = (sum + low) / parts;
    const double remainder = __builtin_fma(-quotient, parts, sum) + low;
    out[i] = (quotient + remainder * inverse) * back;
  }
}
