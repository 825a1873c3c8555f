import { StringDecoder } from 'node:string_decoder';
import { ClientError, EXIT } from './exit-codes.js';

/** Characters; an audit entry has a few thousand. */
const LONGEST_LINE = 16_777_216;

/** The lines of a stream in handfuls, without ever holding the whole. ClientError when it breaks off; `name` says what it is. */
export async function* linesOf(stream: AsyncIterable<unknown>, name: string): AsyncGenerator<string[]> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  try {
    for await (const chunk of stream) {
      const lines = `${rest}${decoder.write(chunk as Buffer)}`.split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > LONGEST_LINE) throw new Error('a line is too long to be an entry');
      yield lines;
    }
  } catch (error) {
    const { message, cause } = error as Error;
    throw new ClientError(EXIT.failed, `${name} cannot be read: ${cause instanceof Error ? cause.message : message}`);
  }
  rest += decoder.end();
  if (rest !== '') yield [rest];
}
