// The loops of embed.hpp; see levels.hpp.
namespace attend::ops::kernels::ATTEND_LEVEL {

template <class T>
void forward(const Embed<T>& a, std::int64_t begin, std::int64_t end) {
  for (std::int64_t m = begin; m < end; ++m) {
    for (std::int64_t c = 0; c < a.width; c += kLanes) {
      const std::int64_t i = m * a.width + c, n = a.width - c;
      Floats x = load(a.table + a.ids[m] * a.width + c, n) * a.scale;
      if (a.positions) x += load(a.positions + a.places[m] * a.width + c, n);
      if (a.mask.drops()) x *= keep(a.mask, static_cast<std::uint32_t>(i));
      store(a.y + i, x, n);
    }
  }
}

template <class T>
void backward(const EmbedBackward<T>& a, std::int64_t begin, std::int64_t end) {
  const std::int64_t last = std::min(end * kWidest, a.width);
  for (std::int64_t m = 0; m < a.num_tokens; ++m) {
    for (std::int64_t c = begin * kWidest; c < last; c += kLanes) {
      const std::int64_t i = m * a.width + c, n = a.width - c;
      Floats d = load(a.dy + i, n);
      if (a.mask.drops()) d *= keep(a.mask, static_cast<std::uint32_t>(i));
      if (a.dtable) {
        float* to = a.dtable + a.ids[m] * a.width + c;
        store(to, load(to, n) + d * a.scale, n);
      }
      if (a.dpositions) {
        float* to = a.dpositions + a.places[m] * a.width + c;
        store(to, load(to, n) + d, n);
      }
    }
  }
}

}  // namespace attend::ops::kernels::ATTEND_LEVEL
