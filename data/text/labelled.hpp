// Files with and without labels.
#pragma once

namespace attend {

// A file to learn from or to score must have labels; in a file to predict they may be missing and are not read.
enum class Labelled { yes, no };

}  // namespace attend
