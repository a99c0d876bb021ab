// Whether a file must have labels.
#pragma once

namespace attend {

// A file to learn from or to score has labels; one that is to be predicted may lack them, and is read without.
enum class Labelled { yes, no };

}  // namespace attend
