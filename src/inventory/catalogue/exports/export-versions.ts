import { StringDecoder } from 'node:string_decoder';
import { setImmediate as turn } from 'node:timers/promises';
import { asVersion17 } from '../../intake/cyclonedx/version-17.js';
import type { CdxComponent } from '../../model/document.js';

/** EXPORT_VERSIONS lists the CycloneDX versions in which the inventory can be exported. The first version is the version of the stored components. */
export const EXPORT_VERSIONS = ['1.6', '1.7'] as const;
export type ExportVersion = (typeof EXPORT_VERSIONS)[number];
export const DEFAULT_EXPORT_VERSION: ExportVersion = '1.6';

/** CHARACTERS_IN_TURN is the number of characters converted per turn of the event loop: about a millisecond of work. A turn converts at least one line. */
const CHARACTERS_IN_TURN = 64 * 1024;

/**
 * inVersion converts lines of components to a CycloneDX version. Each line is a comma and a JSON text. Lines in 1.6 are sent unchanged; for 1.7, each line is
 * converted.
 *
 * @param lines in parts. A part may end within a line.
 */
export function inVersion(lines: AsyncIterable<Buffer>, version: ExportVersion): AsyncIterable<Buffer> {
  return version === '1.6' ? lines : converted(lines);
}

async function* converted(parts: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  for await (const part of parts) {
    const lines = (rest + decoder.write(part)).split('\n');
    rest = lines.pop() ?? '';
    for (let at = 0; at < lines.length;) {
      let text = '';
      for (let read = 0; at < lines.length && read < CHARACTERS_IN_TURN; at += 1) {
        const line = lines[at] ?? '';
        read += line.length;
        text += convertedLine(line);
      }
      if (text !== '') yield Buffer.from(text);
      await turn();
    }
  }
  if (rest !== '') yield Buffer.from(convertedLine(rest));
}

/**
 * Converts one component. A component's JSON contains no line break, because JSON escapes line breaks. A component from a draft of CycloneDX, which has no
 * schema, may be impossible to convert. A component that cannot be converted is exported unchanged, so that the export of the other components is not aborted.
 */
function convertedLine(line: string): string {
  if (line === '') return '';
  try {
    return `,${JSON.stringify(asVersion17(JSON.parse(line.slice(1)) as CdxComponent))}\n`;
  } catch {
    return `${line}\n`;
  }
}
