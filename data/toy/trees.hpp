// Dependency trees of rendered sentences, in the terms of Universal Dependencies (universaldependencies.org), with
// punctuation marks as words of their own:
//
//   The woman sings.     the <-det- woman <-nsubj- sings (root) -punct-> .
//
// German contractions ("im") and English "cannot" are one word each, and titles depend on names.
#pragma once

#include <vector>

#include "data/text/conllu.hpp"
#include "data/toy/meaning.hpp"

namespace attend::toy {

// The tree of a sentence that to_english or to_german has rendered; relations have their subtypes (acl:relcl).
TreeSentence to_tree(const std::vector<Word>& words);

}  // namespace attend::toy
