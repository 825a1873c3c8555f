/** The more particular first: every browser claims to be Mozilla, most claim to be Safari too. */
const PROGRAMS: readonly (readonly [string, RegExp])[] = [
  ['Edge', /Edg(?:e|A|iOS)?\/(\d+)/],
  ['Opera', /OPR\/(\d+)/],
  ['Firefox', /(?:Firefox|FxiOS)\/(\d+)/],
  ['Chrome', /(?:Chrome|CriOS)\/(\d+)/],
  ['Safari', /Version\/(\d{1,9})[^ ]{0,40} .{0,80}Safari/],
  ['curl', /^curl\/([\d.]+)/],
];

const SYSTEMS: readonly (readonly [string, RegExp])[] = [
  ['Android', /Android/],
  ['iOS', /iPhone|iPad/],
  ['Windows', /Windows/],
  ['macOS', /Mac OS X/],
  ['Linux', /Linux|X11/],
];

/** What a User-Agent says in a few words, such as `Firefox 144, Linux`; undefined when it is none of those that people use. */
export function programOf(agent: string): string | undefined {
  for (const [name, pattern] of PROGRAMS) {
    const version = pattern.exec(agent)?.[1];
    if (version === undefined) continue;
    const system = SYSTEMS.find(([, mark]) => mark.test(agent))?.[0];
    return [`${name} ${version}`, system].filter(Boolean).join(', ');
  }
  return undefined;
}
