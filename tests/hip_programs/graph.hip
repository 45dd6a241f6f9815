// Uses what this project's runtime does not have.
#include "check.h"

int main() {
    std::printf("before\n");
    hipGraph_t graph;
    CHECK(hipGraphCreate(&graph, 0));
    std::printf("after\n");
    return 0;
}
