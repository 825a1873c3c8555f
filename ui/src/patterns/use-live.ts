import {
  type QueryKey,
  useQuery,
  useQueryClient,
  type UseQueryOptions,
  type UseQueryResult,
} from '@tanstack/react-query';
import { useEffect, useRef, useState, useSyncExternalStore } from 'react';

/** Milliseconds between two looks where events do not come: through a proxy that holds them back, say. */
const LOOK_EVERY = 2000;

interface LiveOptions<View> {
  /** What the events tell of, as the API answers it. */
  readonly options: object;
  /** Address of its server-sent events, where there are any. */
  readonly events?: string;
  readonly isFinal: (view: View) => boolean;
  /** It was told of again: what hangs together with it may have changed. */
  readonly onChange?: () => void;
}

/**
 * One resource, kept up to date until it is final: by server-sent events while the page is looked at, by asking where they do not
 * come. It is read first, so that a reload goes on where it was. The cookie goes along by itself.
 */
export function useLive<View>({ options, events, isFinal, onChange }: LiveOptions<View>): UseQueryResult<View> {
  const queries = useQueryClient();
  const [isFed, setFed] = useState(false);
  const isVisible = useIsVisible();
  const known = options as UseQueryOptions<View> & { readonly queryKey: QueryKey };
  const query = useQuery<View>({
    ...known,
    refetchInterval: ({ state: { data } }) => (data === undefined || isFinal(data) || isFed ? false : LOOK_EVERY),
  });
  const isOpen = query.data !== undefined && !isFinal(query.data);
  const latest = useRef({ key: known.queryKey, onChange });
  latest.current = { key: known.queryKey, onChange };

  useEffect(() => {
    if (!isOpen || !isVisible || events === undefined) return undefined;
    const source = new EventSource(events);
    source.addEventListener('status', ({ data }: MessageEvent<string>) => {
      setFed(true);
      queries.setQueryData(latest.current.key, JSON.parse(data));
    });
    // The browser comes again by itself, unless it was refused.
    source.addEventListener('error', () => setFed(false));
    return () => {
      source.close();
      setFed(false);
    };
  }, [isOpen, isVisible, events, queries]);

  // By events or by asking, whichever came: the last change may come either way.
  const { dataUpdatedAt } = query;
  const shownAt = useRef(dataUpdatedAt);
  useEffect(() => {
    if (shownAt.current !== 0 && shownAt.current !== dataUpdatedAt) latest.current.onChange?.();
    shownAt.current = dataUpdatedAt;
  }, [dataUpdatedAt]);
  return query;
}

/** A page in the background keeps no connection open: browsers have six for each server, for all tabs together. */
function useIsVisible(): boolean {
  return useSyncExternalStore(
    (tell) => {
      document.addEventListener('visibilitychange', tell);
      return () => document.removeEventListener('visibilitychange', tell);
    },
    () => document.visibilityState === 'visible',
  );
}
