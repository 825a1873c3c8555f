import { useQuery } from '@tanstack/react-query';
import { listHostsOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { useSession } from '../../app/session.js';
import { Go } from '../../patterns/go.js';

const SHORT_ID = 13;

/** HostLink shows a host by name, or by a prefix of its ID if the person may not view hosts. All links share one query for the names. */
export function HostLink({ id }: { id: string }) {
  const { may } = useSession();
  const { data } = useQuery({ ...listHostsOptions({ query: { limit: 200 } }), enabled: may('hosts:read') });
  const name = data?.items.find((host) => host.id === id)?.name ?? id.slice(0, SHORT_ID);
  return <Go to={`/hosts/${id}`}>{name}</Go>;
}
