import type { FastifyInstance } from 'fastify';
import type { Socket } from 'node:net';

const REQUEST_LINE = /^LIST (\/v1\/[\x21-\x7e]{1,2000}) HTTP\/1\.[01]$/;
const HEADER = /^([\w!#$%&'*+.^`|~-]{1,100}):([\x20-\x7e\t]{0,8000})$/;
const END = '\r\n\r\n';

interface ListRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * listRequestIn parses a complete request with the method LIST, Vault's own equivalent of `GET …?list=true`, from bytes that Node's parser rejected. The
 * parser is stricter than HTTP: it accepts one request without a body, with each header at most once, and returns undefined otherwise.
 */
export function listRequestIn(packet: Buffer): ListRequest | undefined {
  const text = packet.toString('latin1');
  if (!text.endsWith(END) || text.indexOf(END) !== text.length - END.length) return undefined;
  const [first = '', ...lines] = text.slice(0, -END.length).split('\r\n');
  const [, url] = REQUEST_LINE.exec(first) ?? [];
  const headers = headersIn(lines);
  if (headers === undefined) return undefined;
  const hasBody = 'transfer-encoding' in headers || (headers['content-length'] ?? '0') !== '0';
  if (url === undefined || hasBody) return undefined;
  delete headers['content-length'];
  return { url: `${url}${url.includes('?') ? '&' : '?'}list=true`, headers };
}

/** Returns headers by lowercase name; undefined if a line is malformed or a name is repeated. */
function headersIn(lines: readonly string[]): Record<string, string> | undefined {
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const [, given, value = ''] = HEADER.exec(line) ?? [];
    const name = given?.toLowerCase();
    if (name === undefined || Object.hasOwn(headers, name)) return undefined;
    headers[name] = value.trim();
  }
  return headers;
}

/** answerList sends the response of the equivalent GET request and closes the connection. */
export async function answerList(
  server: FastifyInstance,
  socket: Socket,
  { url, headers }: ListRequest,
): Promise<void> {
  const { remoteAddress } = socket;
  if (remoteAddress === undefined) {
    socket.destroy();
    return;
  }
  const answer = await server.inject({ method: 'GET', url, headers: { ...headers }, remoteAddress });
  const lines = Object.entries(answer.headers).flatMap(([name, value]) =>
    ['connection', 'content-length', 'transfer-encoding'].includes(name)
      ? []
      : [value].flat().map((one) => `${name}: ${String(one)}`),
  );
  const body = answer.rawPayload;
  const head = [`HTTP/1.1 ${answer.statusCode} ${answer.statusMessage}`, ...lines];
  socket.write(`${[...head, `content-length: ${body.length}`, 'connection: close'].join('\r\n')}${END}`, 'latin1');
  socket.end(body);
}
