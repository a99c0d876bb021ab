// A sentence in CoNLL-U with features, a multiword token and a word without a space after it, as to_conllu writes it.
#pragma once

#include <string_view>

namespace attend {

inline constexpr std::string_view kExampleTree =
    "# text = Er geht zum Haus.\n"
    "1\tEr\t_\tPRON\t_\tCase=Nom|Number=Sing\t2\tnsubj\t_\t_\n"
    "2\tgeht\t_\tVERB\t_\t_\t0\troot\t_\t_\n"
    "3-4\tzum\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "3\tzu\t_\tADP\t_\t_\t5\tcase\t_\t_\n"
    "4\tdem\t_\tDET\t_\t_\t5\tdet\t_\t_\n"
    "5\tHaus\t_\tNOUN\t_\t_\t2\tobl\t_\tSpaceAfter=No\n"
    "6\t.\t_\tPUNCT\t_\t_\t2\tpunct\t_\t_\n"
    "\n";

}  // namespace attend
