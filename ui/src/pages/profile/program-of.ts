/** Most specific first: every browser claims to be Mozilla, and most claim to be Safari. */
const PROGRAMS: readonly (readonly [string, RegExp])[] = [
  ['Edge', /Edg(?:e|A|iOS)?\/(\d+)/],
  ['Opera', /OPR\/(\d+)/],
  ['Firefox', /(?:Firefox|FxiOS)\/(\d+)/],
  ['Chrome', /(?:Chrome|CriOS)\/(\d+)/],
  ['Safari', /Version\/(\d{1,9})[\d.]{0,40} (?:Mobile\/\w{1,20} )?Safari/],
  ['curl', /^curl\/([\d.]+)/],
];

const SYSTEMS: readonly (readonly [string, RegExp])[] = [
  ['Android', /Android/],
  ['iOS', /iPhone|iPad/],
  ['Windows', /Windows/],
  ['macOS', /Mac OS X/],
  ['Linux', /Linux|X11/],
];

/** programOf returns the browser and system of a User-Agent, such as `Firefox 144, Linux`, or undefined for an unknown program. */
export function programOf(agent: string): string | undefined {
  for (const [name, pattern] of PROGRAMS) {
    const version = pattern.exec(agent)?.[1];
    if (version === undefined) continue;
    const system = SYSTEMS.find(([, mark]) => mark.test(agent))?.[0];
    return [`${name} ${version}`, system].filter(Boolean).join(', ');
  }
  return undefined;
}
