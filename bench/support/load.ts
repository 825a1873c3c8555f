import autocannon from 'autocannon';

export interface Load {
  readonly url: string;
  readonly seconds: number;
  readonly connections: number;
  readonly key?: string;
  /** Builds the JSON body of each request; if undefined, requests are GETs. */
  readonly body?: () => object;
}

/** Sends requests as fast as responses arrive and returns the rate of 2xx responses. Any other response is an error. */
export async function hammer({ url, seconds, connections, key, body }: Load): Promise<number> {
  const result = await autocannon({
    url,
    connections,
    duration: seconds,
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'content-type': 'application/json', ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) },
    requests:
      body === undefined ? [{}] : [{ setupRequest: (request) => ({ ...request, body: JSON.stringify(body()) }) }],
  });
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${result.non2xx} answers were not 2xx, ${result.errors} errors`);
  return result['2xx'] / result.duration;
}

/** Runs the measurement `rounds` times and returns the median. */
export async function median(rounds: number, measure: () => Promise<number>): Promise<number> {
  const rates: number[] = [];
  for (let round = 0; round < rounds; round++) rates.push(await measure());
  return middle(rates);
}

export function middle(figures: readonly number[]): number {
  return figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)] ?? 0;
}
