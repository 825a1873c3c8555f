import {
  type QueryKey,
  useQuery,
  useQueryClient,
  type UseQueryOptions,
  type UseQueryResult,
} from '@tanstack/react-query';
import { useEffect, useRef, useState, useSyncExternalStore } from 'react';

/** POLL_MS is the polling interval while no events arrive, for example behind a proxy that buffers them. */
const POLL_MS = 2000;

interface LiveOptions<View> {
  /** Query of the resource that the events describe. */
  readonly options: object;
  /** URL of its server-sent events, if any. */
  readonly events?: string;
  readonly isFinal: (view: View) => boolean;
  /** Called when the resource changes, to refresh dependent data. */
  readonly onChange?: () => void;
}

/** useLive reads a resource and keeps it up to date until it is final: by server-sent events while the page is visible, by polling otherwise. */
export function useLive<View>({ options, events, isFinal, onChange }: LiveOptions<View>): UseQueryResult<View> {
  const queries = useQueryClient();
  const [isFed, setFed] = useState(false);
  const isVisible = useIsVisible();
  const known = options as UseQueryOptions<View> & { readonly queryKey: QueryKey };
  const query = useQuery<View>({
    ...known,
    refetchInterval: ({ state: { data } }) => (data === undefined || isFinal(data) || isFed ? false : POLL_MS),
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
    // The browser reconnects automatically unless the server rejected the connection.
    source.addEventListener('error', () => setFed(false));
    return () => {
      source.close();
      setFed(false);
    };
  }, [isOpen, isVisible, events, queries]);

  // Runs for changes received by event and by polling.
  const { dataUpdatedAt } = query;
  const shownAt = useRef(dataUpdatedAt);
  useEffect(() => {
    if (shownAt.current !== 0 && shownAt.current !== dataUpdatedAt) latest.current.onChange?.();
    shownAt.current = dataUpdatedAt;
  }, [dataUpdatedAt]);
  return query;
}

/** useIsVisible reports whether the page is visible. Background pages close their connection, because browsers allow six per server for all tabs. */
function useIsVisible(): boolean {
  return useSyncExternalStore(
    (notify) => {
      document.addEventListener('visibilitychange', notify);
      return () => document.removeEventListener('visibilitychange', notify);
    },
    () => document.visibilityState === 'visible',
  );
}
