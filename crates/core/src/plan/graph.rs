//! Which step waits for which: order, depth, and cycles.
//!
//! Needs are positions. Everything here takes time in proportion to steps and needs together.

/// How deep each step lies: 0 needs nothing, any other lies one deeper than the deepest it needs. Or else a cycle: steps
/// each of which needs the next, and the last the first.
pub(super) fn levels(needs: &[Vec<usize>]) -> Result<Vec<usize>, Vec<usize>> {
    let mut waiting: Vec<usize> = needs.iter().map(Vec::len).collect();
    let mut needed_by = vec![Vec::new(); needs.len()];
    for (step, needs) in needs.iter().enumerate() {
        for need in needs {
            needed_by[*need].push(step);
        }
    }
    let mut levels = vec![0; needs.len()];
    let mut free: Vec<usize> = (0..needs.len()).filter(|step| waiting[*step] == 0).collect();
    let mut done = 0;
    while let Some(step) = free.pop() {
        done += 1;
        for next in &needed_by[step] {
            levels[*next] = levels[*next].max(levels[step] + 1);
            waiting[*next] -= 1;
            if waiting[*next] == 0 {
                free.push(*next);
            }
        }
    }
    match done == needs.len() {
        true => Ok(levels),
        false => Err(cycle(needs, &waiting)),
    }
}

/// A cycle among the steps that still wait. Each of them needs another that waits, so following needs comes back.
fn cycle(needs: &[Vec<usize>], waiting: &[usize]) -> Vec<usize> {
    let waits = |step: &usize| waiting[*step] > 0;
    let mut seen_at = vec![None; needs.len()];
    let mut way = Vec::new();
    let mut step = (0..needs.len()).find(waits);
    while let Some(here) = step {
        if let Some(start) = seen_at[here] {
            let mut cycle = way.split_off(start);
            let first = (0..cycle.len()).min_by_key(|at| cycle[*at]).unwrap_or_default();
            cycle.rotate_left(first);
            return cycle;
        }
        seen_at[here] = Some(way.len());
        way.push(here);
        step = needs[here].iter().copied().find(waits);
    }
    way
}

/// The positions by level, and within a level as they stand in the plan: what is needed comes before what needs it.
pub(super) fn order(levels: &[usize]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..levels.len()).collect();
    order.sort_by_key(|step| levels[*step]);
    order
}

/// The chain of needs that takes longest, the more steps the longer where times are equal, from its first step to its last.
pub(super) fn longest(needs: &[Vec<usize>], order: &[usize], cost: impl Fn(usize) -> i64) -> Vec<usize> {
    let mut best = vec![(0, 0); needs.len()];
    let mut before = vec![None; needs.len()];
    for step in order {
        // The first of equals wins, as in all else here.
        let longest = needs[*step].iter().copied().rev().max_by_key(|need| best[*need]);
        let (seconds, steps) = longest.map_or((0, 0), |need| best[need]);
        before[*step] = longest;
        best[*step] = (seconds + cost(*step), steps + 1);
    }
    let mut chain = Vec::new();
    let mut at = order.iter().copied().rev().max_by_key(|step| best[*step]);
    while let Some(step) = at {
        chain.push(step);
        at = before[step];
    }
    chain.reverse();
    chain
}
