import type { AlgorithmUse, RiskSubject } from '../model/risk-subject.js';
import type { OwnName } from '../model/rule-set.js';
import { algorithmUsesOf } from './algorithm-uses.js';

/** Conditions of quality that are answered once all names are known. */
const ANSWERED = new Set(['unknown-algorithm', 'unread-public-key']);

/** Names of algorithms that people taught, applied to facts when they are judged: facts say what was read, and never change with it. */
export class TaughtNames {
  private readonly uses: ReadonlyMap<string, readonly AlgorithmUse[]>;

  constructor(names: readonly OwnName[]) {
    this.uses = new Map(names.map(({ name, means }) => [taughtKey(name), algorithmUsesOf(means)]));
  }

  /** The facts with what is taught of the names that were not read in them. */
  applied(subject: RiskSubject): RiskSubject {
    const { unread = [], ingredients, quality } = subject;
    if (unread.length === 0 || this.uses.size === 0) return subject;
    const taught = unread.flatMap((name) => this.uses.get(taughtKey(name)) ?? []);
    if (taught.length === 0) return subject;
    const left = unread.filter((name) => !this.uses.has(taughtKey(name)));
    // What was read of the name already is a part of what it means: the hash of a signature that nobody knew.
    const known = new Set(taught.map(({ family }) => family));
    const further = ingredients.filter(({ family }) => !known.has(family));
    return {
      ...subject,
      ingredients: [...taught, ...further],
      unread: left,
      quality: quality?.filter((condition) => left.length > 0 || !ANSWERED.has(condition)),
    };
  }
}

/** The form in which names are compared. */
export function taughtKey(name: string): string {
  return name.trim().toLowerCase();
}
