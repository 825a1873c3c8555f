/** `format in authenticode`, `caller not-in 0194…`, `metadata.branch in release/*`. */
export interface Condition {
  readonly fact: string;
  readonly op: 'in' | 'not-in';
  /** A value that ends in `*` stands for all that begin so. */
  readonly values: readonly string[];
}

/** What is known of what is to be approved, by name; a fact may have several values, such as a caller and the person behind it. */
export type PolicyFacts = Readonly<Record<string, readonly string[]>>;

/**
 * Whether a condition holds. One about a fact that is not told holds: whoever leaves out the metadata that a policy asks about does
 * not get around the policy.
 */
export function holds({ fact, op, values }: Condition, facts: PolicyFacts): boolean {
  const known = facts[fact];
  if (known === undefined || known.length === 0) return true;
  const isMet = known.some((value) => values.some((wanted) => matches(wanted, value)));
  return op === 'in' ? isMet : !isMet;
}

function matches(wanted: string, value: string): boolean {
  return wanted.endsWith('*') ? value.startsWith(wanted.slice(0, -1)) : value === wanted;
}
