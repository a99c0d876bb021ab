// The loops of loss.hpp; see levels.hpp.
namespace attend::ops::kernels::ATTEND_LEVEL {

template <class T>
void rows(const LossRows<T>& a, std::int64_t begin, std::int64_t end) {
  const std::int64_t size = a.vocabulary;
  const auto count = static_cast<float>(size);
  const std::unique_ptr<float[]> exponentials(new float[size + kLanes]);
  for (std::int64_t r = begin; r < end; ++r) {
    const float* row = a.logits + r * size;
    const float label_logit = row[a.labels[r]];
    Floats top = all(label_logit), total = {};
    for (std::int64_t v = 0; v < size; v += kLanes) {
      const Floats x = load(row + v, size - v);
      top = max(top, first(size - v, x, label_logit));
      total += x;
    }
    const float most = largest(top);
    Floats exponential_total = {};
    for (std::int64_t v = 0; v < size; v += kLanes) {
      const Floats e = first(size - v, exp(load(row + v, size - v) - most), 0);
      store(exponentials.get() + v, e);
      exponential_total += e;
    }
    const float normaliser = sum(exponential_total);
    const float log_normaliser = most + std::log(normaliser);
    a.nll[r] = log_normaliser - label_logit;
    a.loss[r] = log_normaliser - (1 - a.smoothing) * label_logit - a.smoothing * sum(total) / count;
    a.correct[r] = label_logit >= most;
    if (a.gradient == nullptr) continue;
    T* gradient = a.gradient + r * size;
    const float share = a.smoothing / count, unnormalise = 1 / normaliser;
    for (std::int64_t v = 0; v < size; v += kLanes) {
      store(gradient + v, load(exponentials.get() + v) * unnormalise - share, size - v);
    }
    const std::int64_t label = a.labels[r];
    store(gradient + label, all(exponentials[label] * unnormalise - share - (1 - a.smoothing)), 1);
  }
}

inline void log_sum_exp(const float* x, std::int64_t n, float* block_max, float& result) {
  float most = x[0];
  for (std::int64_t begin = 0; begin < n; begin += kBlock) {
    Floats top = all(x[begin]);
    for (std::int64_t i = begin; i < std::min(begin + kBlock, n); i += kLanes) {
      top = max(top, first(n - i, load(x + i, n - i), x[begin]));
    }
    block_max[begin / kBlock] = largest(top);
    most = std::max(most, block_max[begin / kBlock]);
  }
  Floats total = {};
  for (std::int64_t i = 0; i < n; i += kLanes) total += first(n - i, exp(load(x + i, n - i) - most), 0);
  result = most + std::log(sum(total));
}

}  // namespace attend::ops::kernels::ATTEND_LEVEL
