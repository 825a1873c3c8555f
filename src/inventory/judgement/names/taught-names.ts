import type { AlgorithmUse, RiskSubject } from '../../model/risk-subject.js';
import type { OwnName } from '../../model/rule-set.js';
import { algorithmUsesOf } from './algorithm-uses.js';

/** Quality conditions that are removed once all names are known. */
const ANSWERED = new Set(['unknown-algorithm', 'unread-public-key']);

/** TaughtNames applies user-defined algorithm names to facts when assets are classified. The stored facts do not change. */
export class TaughtNames {
  private readonly uses: ReadonlyMap<string, readonly AlgorithmUse[]>;

  constructor(names: readonly OwnName[]) {
    this.uses = new Map(names.map(({ name, means }) => [taughtKey(name), algorithmUsesOf(means)]));
  }

  /** Returns the facts with the user-defined meanings of unrecognized names. */
  applied(subject: RiskSubject): RiskSubject {
    const { unread = [], ingredients, quality } = subject;
    if (unread.length === 0 || this.uses.size === 0) return subject;
    const taught = unread.flatMap((name) => this.uses.get(taughtKey(name)) ?? []);
    if (taught.length === 0) return subject;
    const left = unread.filter((name) => !this.uses.has(taughtKey(name)));
    // A recognized part of the name, such as the hash of an unknown signature, is not added if the defined meaning already contains that part.
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

/** taughtKey returns the normalized form of a name, for comparison. */
export function taughtKey(name: string): string {
  return name.trim().toLowerCase();
}
