interface CommitTexts {
  readonly packageJson: string;
  readonly lock: string;
  readonly changelog: string;
}

/** Throws unless the commit matches the version. */
export function assertVersion(version: string, files: CommitTexts): void;
/** Compares by precedence (Semantic Versioning 2.0.0, section 11). Returns a negative number, 0 or a positive number. */
export function compareVersions(one: string, other: string): number;
