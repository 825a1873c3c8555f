import { expect, it } from 'vitest';
import {
  isModestXml,
  MAX_ATTRIBUTES,
  MAX_DEPTH,
  MAX_ELEMENTS,
  MAX_PATH_ATTRIBUTES,
  MAX_TAG_LENGTH,
} from './xml-size.js';

const nested = (depth: number, start: string) => start.repeat(depth) + '</a>'.repeat(depth);
const namespaces = (count: number) => Array.from({ length: count }, (_, i) => `xmlns:n${i}="u${i}"`).join(' ');

it.each([
  [
    'a message with 1,000 groups',
    `<r>${'<a Name="groups"><v xmlns:xs="x" xs:type="string">g</v></a>'.repeat(1000)}</r>`,
  ],
  ['markup in attribute values', `<r a="/>" b='"' c = "x>y"><s t=">"/></r>`],
  ['white space in tags', '<r\n  a="1"\t><s /></r >\n'],
  ['the largest depth', nested(MAX_DEPTH, '<a>')],
])('accepts %s', (_, xml) => expect(isModestXml(xml)).toBe(true));

it.each([
  ['is deeper', nested(MAX_DEPTH + 1, '<a>')],
  ['is deeper, and seems to be flat', nested(MAX_DEPTH + 1, '<a b="/>">')],
  ['has more elements', `<r>${'<a/>'.repeat(MAX_ELEMENTS)}</r>`],
  ['has more attributes', `<r>${'<a b="" c="" d="" e=""/>'.repeat(MAX_ATTRIBUTES / 4)}<a b=""/></r>`],
  ['has more namespaces in scope', `<r ${namespaces(MAX_PATH_ATTRIBUTES)}><a b="c"/></r>`],
  ['adds namespaces at each depth', nested(10, `<a ${namespaces(10)}>`)],
  ['has a longer tag', `<r a="${'x'.repeat(MAX_TAG_LENGTH)}"/>`],
  ['closes what is not open', '<a></b>'],
  ['closes more than is open', '<a></a></a>'],
  ['does not end', '<a><b></b>'],
  ['has an attribute without quotes', '<a b=c></a>'],
  ['has a quote that does not end', '<a b="c></a>'],
  ['has a tag in a tag', '<a <b></b></a>'],
  ['has a less-than sign in a value', '<a b="<c>"></a>'],
  ['has a slash within a tag', '<a / b="c"></a>'],
  ['has attributes in an end tag', '<a></a b="c">'],
])('rejects a message that %s', (_, xml) => expect(isModestXml(xml)).toBe(false));
