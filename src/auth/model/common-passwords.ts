let list: Promise<ReadonlySet<string>> | undefined;

/** Some fifty thousand passwords that people choose most, in lower case. Read when first asked for: few processes ever are. */
export function commonPasswords(): Promise<ReadonlySet<string>> {
  list ??= import('@zxcvbn-ts/language-common').then(({ dictionary }) => new Set(dictionary['passwords-common']));
  return list;
}
