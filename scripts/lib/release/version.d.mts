interface CommitTexts {
  readonly packageJson: string;
  readonly lock: string;
  readonly changelog: string;
}

/** Refuses a version that the commit does not stand for. */
export function assertVersion(version: string, files: CommitTexts): void;
/** By precedence (Semantic Versioning 2.0.0, 11): negative, 0 or positive. */
export function compareVersions(one: string, other: string): number;
