import { type SensorFinding, type FindingPlace, protocolHere, tlsVersion, usedHere } from '../model/finding.js';
import { type Detector, fileLinesOf } from './detector.js';
import { SOURCE_RULES, type SourceRule } from './source-rules.js';
import { truncate } from '../../../platform/text/truncate.js';

const MAX_SYMBOL = 60;
/** Where a comment begins at the latest. */
const MAX_INDENT = 200;
const COMMENT = /^\s*(?:\/\/|\/?\*|#(?!\s*(?:include|define|if|el|end))|--)/;

/** Calls of cryptography in source code, by language. What stands in a comment is not called. */
export const sourceCalls: Detector = ({ location, text }) =>
  SOURCE_RULES.filter(({ files }) => files.test(location)).flatMap((rule) => callsOf(rule, location, text));

function callsOf({ call, used }: SourceRule, location: string, text: string): SensorFinding[] {
  const placeOf = fileLinesOf(text);
  return [...text.matchAll(call)].flatMap((match): SensorFinding[] => {
    const { line, start } = placeOf(match.index);
    if (COMMENT.test(text.slice(start, Math.min(start + MAX_INDENT, match.index + 1)))) return [];
    const what = used(match.slice(1));
    const symbol = truncate((match[0].split('(')[0] ?? '').trim(), MAX_SYMBOL);
    const place: FindingPlace = { location, line, symbol };
    if (what === undefined) return [];
    if ('algorithm' in what) return [usedHere(what.algorithm, place)];
    const version = tlsVersion(what.tls);
    return version === undefined ? [] : [protocolHere({ ...version, type: 'tls' }, place)];
  });
}
