#include <algorithm>
#include <cstdio>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <regex>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

extern "C" inline __attribute__((always_inline)) int plain_inline(int x)
{
    return x * 3 + (x >> 2);
}

namespace
{
struct local {
    virtual ~local()
    {
    }
    virtual int work(int x)
    {
        return plain_inline(x) + std::to_string(x).size();
    }
};
int helper(const std::vector<std::string> &v)
{
    return std::accumulate(v.begin(), v.end(), 0,
                           [](int a, const std::string &s) { return a + (int)s.size() + plain_inline(a); });
}
} // namespace

template <class T> struct tree {
    struct node {
        T value;
        std::unique_ptr<node> left, right;
    };
    std::unique_ptr<node> root;
    void insert(T v)
    {
        auto *at = &root;
        while (*at)
            at = v < (*at)->value ? &(*at)->left : &(*at)->right;
        at->reset(new node{std::move(v), nullptr, nullptr});
    }
    template <class F> void each(F f)
    {
        visit(root.get(), f);
    }
    template <class F> static void visit(node *n, F &f)
    {
        if (n) {
            visit(n->left.get(), f);
            f(n->value);
            visit(n->right.get(), f);
        }
    }
};

int main(int argc, char **argv)
{
    std::vector<std::string> words;
    std::map<std::string, std::vector<int>> index;
    std::unordered_map<int, std::function<int(int)>> calls;
    std::mt19937 random(argc);
    for (int i = 0; i < 100; i++) {
        words.push_back(std::to_string(random() % 1000));
        index[words.back()].push_back(i);
        calls[i] = [i, &words](int x) { return x + i + (int)words.size(); };
    }
    std::sort(words.begin(), words.end(), [](const auto &a, const auto &b) {
        return a.size() != b.size() ? a.size() < b.size() : a < b;
    });
    tree<std::string> t;
    for (auto &w : words)
        t.insert(w);
    std::ostringstream out;
    t.each([&out](const std::string &s) { out << s << ' '; });
    std::regex e("([0-9]+) ([0-9]+)");
    std::smatch m;
    std::string text = out.str();
    if (std::regex_search(text, m, e))
        std::cout << m[1] << '\n';
    int sum = helper(words);
    for (auto &[k, f] : calls)
        sum += f(k);
    auto l = std::make_shared<local>();
    std::stable_sort(words.begin(), words.end());
    std::cout << sum + l->work(argc) << ' ' << index.size() << '\n';
    return argc > 100 && argv[1];
}
