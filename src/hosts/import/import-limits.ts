/** Maximum hosts of one import. */
export const MAX_HOSTS = 5000;
/** Maximum names that are expanded, groups that are walked and variables that are inherited: far more than any inventory of 5000 hosts has. */
const MAX_STEPS = 2_000_000;

/** A file is refused as a whole. */
export class ImportRefusal extends Error {
  /** @param code of the Problem. @param detail what is wrong, with line and column where they are known. */
  constructor(
    readonly code: 'host-import.format' | 'host-import.too-large',
    readonly detail: string,
  ) {
    super(detail);
  }
}

/** Limits the cost of reading one file, which does not depend on its length. */
export class ImportBudget {
  private steps = 0;
  private hosts = 0;

  /** Throws ImportRefusal when the file asks for more than is read. */
  spend(steps = 1): void {
    this.steps += steps;
    if (this.steps > MAX_STEPS)
      throw new ImportRefusal('host-import.too-large', 'unfolds to more than is read at once: import it in parts');
  }

  /** Throws ImportRefusal when the file has more hosts than one import may have. */
  spendHost(): void {
    this.hosts += 1;
    if (this.hosts > MAX_HOSTS)
      throw new ImportRefusal('host-import.too-large', `has more than ${MAX_HOSTS} hosts: import it in parts`);
  }
}
