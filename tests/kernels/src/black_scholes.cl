// European call and put prices; the normal distribution by the Abramowitz-Stegun 26.2.17 polynomial.
float cumulative_normal(float d) {
    float k = 1.0f / (1.0f + 0.2316419f * fabs(d));
    float poly = k * (0.319381530f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    float tail = 0.39894228040143267794f * exp(-0.5f * d * d) * poly;
    return d > 0.0f ? 1.0f - tail : tail;
}

kernel void black_scholes(uint n, float rate, float volatility, global const float* price, global const float* strike,
                          global const float* years, global float* call, global float* put) {
    uint i = get_global_id(0);
    if (i >= n) return;
    float s = price[i], x = strike[i], t = years[i];
    float root = sqrt(t);
    float d1 = (log(s / x) + (rate + 0.5f * volatility * volatility) * t) / (volatility * root);
    float d2 = d1 - volatility * root;
    float n1 = cumulative_normal(d1), n2 = cumulative_normal(d2);
    float discounted = x * exp(-rate * t);
    call[i] = s * n1 - discounted * n2;
    put[i] = discounted * (1.0f - n2) - s * (1.0f - n1);
}
