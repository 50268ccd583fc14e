#!/usr/bin/env python3
"""A line of the table of docs/accuracy.md: how often error bars held the truth in real runs.

usage: judge.py NAME FILE   (a line of FILE is what target_shares knows, a tab, and what top --json says)
"""
import json
import sys

CLASSES = [(0.005, 0.03), (0.03, 0.5), (0.5, 1)]


def judge(line, tallies):
    truth, found = (json.loads(part) for part in line.split('\t'))
    rows = {row['name']: row for row in found['rows']}
    for name, known in truth['functions'].items():
        tally = next((t for (low, high), t in zip(CLASSES, tallies) if low <= known['share'] < high), None)
        if tally is None:
            continue
        row = rows.get(name)
        tally['true_ns'] += known['wall_ns']
        tally['found_ns'] += row['cum']['wall_ns'] if row else 0
        if row is None or row['cum_error']['cpu_ns'] is None:
            tally['few'] += 1
            continue
        tally['cases'] += 1
        for value in 'cpu_ns', 'wall_ns':
            tally[value] += abs(row['cum'][value] - known[value]) <= row['cum_error'][value]


def main():
    tallies = [{'cases': 0, 'few': 0, 'cpu_ns': 0, 'wall_ns': 0, 'true_ns': 0, 'found_ns': 0} for _ in CLASSES]
    with open(sys.argv[2], encoding='utf-8') as lines:
        for line in lines:
            judge(line, tallies)
    cells = []
    for tally in tallies:
        cases = max(tally['cases'], 1)
        cells.append(f"{100 * tally['wall_ns'] / cases:.1f} / {100 * tally['cpu_ns'] / cases:.1f}")
    few = 100 * tallies[0]['few'] / max(tallies[0]['few'] + tallies[0]['cases'], 1)
    excess = sum(tally['found_ns'] for tally in tallies) / max(sum(tally['true_ns'] for tally in tallies), 1) - 1
    print(f'| {sys.argv[1]} | {" | ".join(cells)} | {few:.0f} % | {100 * excess:+.1f} % |')


if __name__ == '__main__':
    main()
