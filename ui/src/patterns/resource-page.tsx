import { useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Busy } from './busy.js';
import { PageFrame } from './page-frame.js';
import { Failed } from './problem.js';

/** useResourceId returns the resource ID in the URL. */
export function useResourceId(): string {
  const { id = '' } = useParams({ strict: false });
  return id;
}

interface ResourcePageProps<View> {
  /** Result of `useQuery` or `useLive`. */
  readonly query: {
    readonly data: View | undefined;
    readonly isPending: boolean;
    readonly isError: boolean;
    readonly error: unknown;
    readonly refetch: () => unknown;
  };
  /** Heading while the resource is loading, and for resources without a name. */
  readonly kind: string;
  /** The list that the resource belongs to. */
  readonly parent: { readonly to: string; readonly name: string };
  readonly title: (view: View) => string | undefined;
  readonly lead?: (view: View) => ReactNode;
  readonly badge?: (view: View) => ReactNode;
  readonly actions?: (view: View) => ReactNode;
  readonly percent?: (view: View) => number | undefined;
  readonly children: (view: View) => ReactNode;
}

/** ResourcePage shows a spinner while the resource is loading, the problem if it cannot be loaded, and otherwise its content. */
export function ResourcePage<View>(props: ResourcePageProps<View>) {
  const { query, kind, parent, title, lead, badge, actions, percent, children } = props;
  const view = query.data;
  return (
    <PageFrame
      title={(view && title(view)) ?? kind}
      parents={[parent]}
      {...(view !== undefined && {
        lead: lead?.(view),
        badge: badge?.(view),
        actions: actions?.(view),
        percent: percent?.(view),
      })}
    >
      {query.isError && <Failed query={query} />}
      {query.isPending && <Busy />}
      {view !== undefined && children(view)}
    </PageFrame>
  );
}
