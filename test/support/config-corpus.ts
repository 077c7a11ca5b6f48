// Whole configurations as operators write them: one thing each is about, in the layout of its author.

export interface Example {
  readonly name: string;
  readonly text: string;
  /** Peers that are started. */
  readonly peers: number;
  /** Fragments, one a warning; none: not one. */
  readonly warnings?: readonly string[];
}

const INJECT = 'plugin { external inject { run "node ./inject.js"; encoder json; } }';

export const EXAMPLES: readonly Example[] = [
  {
    name: 'a first session',
    peers: 1,
    text: `# The least that runs
bgp {
    router-id 192.0.2.1
    session { asn { local 64500; } }
    peer upstream {
        connection { local { ip 192.0.2.1; } remote { ip 192.0.2.2; } }
        session { asn { remote 64496; } family { ipv4/unicast { prefix { maximum 10; } } } }
    }
}
`,
  },
  {
    name: 'an injector of static routes',
    peers: 1,
    text: `bgp {
  router-id 198.51.100.1
  session { asn { local 65010; } }
  peer collector {
    description "routes for the lab"
    connection {
      local { ip 198.51.100.1; accept false; }
      remote { ip 198.51.100.2; port 1179; }
    }
    session {
      asn { remote 65020; }
      family { ipv4/unicast { prefix { maximum 100; } } ipv6/unicast { prefix { maximum 100; } } }
    }
    behavior { group-updates false; manual-eor false; auto-flush true; }
    update {
      attribute { origin igp; next-hop self; as-path [ 65010 65011 ]; med 50; community [ 65010:1 no-export ]; }
      nlri {
        ipv4/unicast add 203.0.113.0/25 203.0.113.128/25
        ipv4/unicast add 198.18.0.0/15
      }
    }
    update {
      attribute { origin incomplete; next-hop 2001:db8::1; large-community [ 65010:1:2 ]; }
      nlri { ipv6/unicast add 2001:db8:1::/48 2001:db8:2::/48; }
    }
  }
}
`,
  },
  {
    name: 'an injector driven by a program',
    peers: 1,
    text: `plugin {
    external inject {
        run "python3 -u ./inject.py --fast"
        encoder text
        respawn true
        timeout 10s
    }
}
bgp {
    router-id 192.0.2.1;
    session { asn { local 64500; } }
    peer core {
        connection { local { ip auto; } remote { ip 192.0.2.9; } }
        session {
            asn { remote 64500; }
            family { ipv4/unicast { prefix { maximum 1000; } } }
            capability { route-refresh; }
        }
        process inject {
            receive [ state update refresh negotiated ]
            send [ update refresh ]
            content { encoding text; format parsed; }
        }
    }
}
`,
  },
  {
    name: 'a program defined in place',
    peers: 2,
    text: `bgp {
  router-id 10.0.0.1
  session asn local 65000
  peer one {
    connection { local { ip 10.0.0.1; } remote { ip 10.0.0.2; } }
    session { asn { remote 65001; } family { ipv4/unicast { prefix { maximum 5; } } } }
    process watch { run "./watch --quiet"; receive [ state ]; }
  }
  peer two {
    connection { local { ip 10.0.0.1; } remote { ip 10.0.0.3; } }
    session { asn { remote 65002; } family { ipv4/unicast { prefix { maximum 5; } } } }
    process watch { receive [ state notification ]; }
  }
}
`,
  },
  {
    name: 'every word of a binding',
    peers: 1,
    text: `${INJECT}
bgp {
  router-id 10.0.0.1
  session { asn { local 65000; } }
  peer all {
    connection { local { ip 10.0.0.1; } remote { ip 10.0.0.2; } }
    session { asn { remote 65001; } family { ipv4/unicast { prefix { maximum 5; } } } }
    process inject {
      receive [
        update open notification keepalive refresh state sent negotiated  # of the session
        eor congested resumed rpki update-rpki                            # of plugins
      ]
      send [ update refresh enhanced-refresh ]
      content { encoding json; format full; }
    }
  }
}
`,
  },
  {
    name: 'bindings of a group, refined by a peer',
    peers: 2,
    text: `plugin { external log { run "./log"; } external inject { run "./inject"; } }
bgp {
  router-id 10.0.0.1
  session { asn { local 65000; } }
  process log { receive [ state ]; }
  group lab {
    connection { local { ip 10.0.0.1; } }
    session { family { ipv4/unicast { prefix { maximum 5; } } } }
    process inject { send [ update ]; }
    peer a { connection { remote { ip 10.0.0.2; } } session { asn { remote 65001; } } }
    peer b {
      connection { remote { ip 10.0.0.3; } } session { asn { remote 65002; } }
      process log { receive [ state update ]; content { format hex; } }
    }
  }
}
`,
  },
  {
    name: 'a route server for an exchange',
    peers: 3,
    text: `plugin { external rs { use bgp-rs; } external in { use bgp-adj-rib-in; } }
bgp {
    router-id 10.9.0.1
    session { asn { local 64999; } }
    route-server { transparent true; best-path true; }
    group members {
        connection { local { ip 10.9.0.1; } remote { connect false; } }
        session {
            next-hop unchanged
            family {
                ipv4/unicast { prefix { maximum 20000; warning 18000; teardown true; idle-timeout 60; } }
                ipv6/unicast { prefix { maximum 5000; } }
            }
            capability { extended-message; }
        }
        behavior { rs-fast-path true; }
        role { import rs; }
        process rs { receive [ update state ]; send [ update ]; }
        process in { receive [ update state ]; }
        peer m65011 { connection { remote { ip 10.9.0.11; } } session { asn { remote 65011; } } }
        peer m65012 { connection { remote { ip 10.9.0.12; } } session { asn { remote 65012; } } }
        peer m65013 { connection { remote { ip 2001:db8:9::13; } local { ip 2001:db8:9::1; } } session { asn { remote 65013; } } }
        inactive: peer m65014 { connection { remote { ip 10.9.0.14; } } session { asn { remote 65014; } } }
    }
}
`,
  },
  {
    name: 'a client of a route server',
    peers: 2,
    text: `bgp {
  router-id 10.9.0.50
  session { asn { local 65050; } }
  group servers {
    connection { local { ip 10.9.0.50; } }
    session {
      asn { remote 64999; }
      enforce-first-as false
      family { ipv4/unicast { prefix { maximum 200000; } } }
    }
    role { import rs-client; }
    peer rs1 { connection { remote { ip 10.9.0.1; } } }
    peer rs2 { connection { remote { ip 10.9.0.2; } } }
  }
}
`,
  },
  {
    name: 'a route reflector with two clusters',
    peers: 4,
    text: `bgp {
    router-id 10.0.0.1;
    session {
        asn { local 64500; remote 64500; }
        family { ipv4/unicast { prefix { maximum 1000000; } } ipv6/unicast { prefix { maximum 300000; } } }
    }
    connection { local { ip 10.0.0.1; } }
    group clients-east {
        session { route-reflector-client true; cluster-id 10.255.0.1; }
        peer e1 { connection { remote { ip 10.0.1.1; } } }
        peer e2 { connection { remote { ip 10.0.1.2; } } }
    }
    group clients-west {
        session { route-reflector-client true; cluster-id 10.255.0.2; }
        peer w1 { connection { remote { ip 10.0.2.1; } } }
    }
    peer rr2 { description "the other reflector"; connection { remote { ip 10.0.0.2; } } }
}
`,
  },
  {
    name: 'many families',
    peers: 1,
    text: `bgp {
    router-id 10.0.0.1
    session { asn { local 64500; } }
    peer pe {
        connection { local { ip 10.0.0.1; } remote { ip 10.0.0.2; } }
        session {
            asn { remote 64500; }
            family {
                ipv4/unicast require { prefix { maximum 1000; } }
                ipv6/unicast { prefix { maximum 1000; } }
                ipv4/multicast { mode disable; prefix { maximum 1000; } }
                ipv4/mpls-label { prefix { maximum 1000; } }
                ipv4/mpls-vpn { prefix { maximum 1000; } }
                ipv6/mpls-vpn { prefix { maximum 1000; } }
                ipv4/flow { mode ignore; prefix { maximum 1000; } }
                ipv4/rtc { prefix { maximum 1000; } }
                l2vpn/evpn { prefix { maximum 1000; } }
                l2vpn/vpls { prefix { maximum 1000; } }
                bgp-ls/bgp-ls { prefix { maximum 1000; } }
            }
        }
    }
}
`,
  },
  {
    name: 'families one by one',
    peers: 1,
    text: `bgp router-id 10.0.0.1
bgp session asn local 64500
bgp peer a connection local ip 10.0.0.1
`.replace(
      'bgp peer a connection local ip 10.0.0.1\n',
      `bgp {
  peer a {
    connection local ip 10.0.0.1
    connection remote ip 10.0.0.2
    session asn remote 64501
    session family ipv4/unicast prefix maximum 7
    session family ipv6/unicast { prefix maximum 8; mode require; }
  }
}
`,
    ),
  },
  {
    name: 'graceful restart and long-lived stale routes',
    peers: 1,
    warnings: ['graceful-restart is not available'],
    text: `${INJECT}
bgp {
  router-id 10.0.0.1
  session { asn { local 64500; } }
  peer edge {
    connection { local { ip 10.0.0.1; } remote { ip 10.0.0.2; } }
    session {
      asn { remote 64501; }
      family { ipv4/unicast { prefix { maximum 100; } } }
      capability { graceful-restart { restart-time 180; long-lived-stale-time 86400; } route-refresh enable; }
    }
    process inject { send [ update ]; }
  }
}
`,
  },
  {
    name: 'MD5 and GTSM',
    peers: 1,
    warnings: ['connection/md5 is not available', 'connection/ttl is not available'],
    text: `bgp {
  router-id 10.0.0.1
  session { asn { local 64500; } }
  peer edge {
    connection {
      local { ip 10.0.0.1; }
      remote { ip 10.0.0.2; }
      md5 { password 'p@ss "word"'; }
      ttl { max 1; }
    }
    session { asn { remote 64501; } family { ipv4/unicast { prefix { maximum 100; } } } }
  }
}
`,
  },
  {
    name: 'ADD-PATH for all families, less for one',
    peers: 1,
    text: `bgp {
  router-id 10.0.0.1
  session { asn { local 64500; } }
  peer edge {
    connection { local { ip 10.0.0.1; } remote { ip 10.0.0.2; } }
    session {
      asn { remote 64500; }
      family { ipv4/unicast { prefix { maximum 100; } } ipv6/unicast { prefix { maximum 100; } } }
      capability { add-path send/receive; }
      add-path {
        ipv4/unicast receive
        ipv6/unicast send/receive require
      }
    }
  }
}
`,
  },
  {
    name: 'ADD-PATH in two words',
    peers: 1,
    text: `bgp {
  router-id 10.0.0.1
  session { asn { local 64500; } }
  peer edge {
    connection { local { ip 10.0.0.1; } remote { ip 10.0.0.2; } }
    session {
      asn { remote 64500; }
      family { ipv4/unicast { prefix { maximum 100; } } }
      capability { add-path { send true; receive false; } }
    }
  }
}
`,
  },
  {
    name: 'IPv4 routes over IPv6 next hops',
    peers: 1,
    text: `bgp {
  router-id 10.0.0.1
  session { asn { local 64500; } }
  peer v6only {
    connection { local { ip 2001:db8::1; } remote { ip 2001:db8::2; } }
    session {
      asn { remote 64501; }
      family { ipv4/unicast { prefix { maximum 100; } } ipv6/unicast { prefix { maximum 100; } } }
      capability { nexthop { ipv4/unicast ipv6; ipv4/mpls-vpn ipv6 enable; } }
    }
    update {
      attribute { next-hop 2001:db8::1; }
      nlri { ipv4/unicast add 198.51.100.0/24; }
    }
  }
}
`,
  },
  {
    name: 'roles of every kind',
    peers: 5,
    text: `bgp {
  router-id 10.0.0.1
  session { asn { local 64500; } family { ipv4/unicast { prefix { maximum 100; } } } }
  connection { local { ip 10.0.0.1; } }
  peer up { connection { remote { ip 10.0.1.1; } } session { asn { remote 1; } } role { import customer; strict true; } }
  peer down { connection { remote { ip 10.0.1.2; } } session { asn { remote 2; } } role { import provider; export default; } }
  peer side { connection { remote { ip 10.0.1.3; } } session { asn { remote 3; } } role { import peer; } }
  peer rs { connection { remote { ip 10.0.1.4; } } session { asn { remote 4; } } role { import rs-client; } }
  peer cl { connection { remote { ip 10.0.1.5; } } session { asn { remote 5; } } role { import rs; } }
}
`,
  },
  {
    name: 'prefix limits with a date',
    peers: 1,
    warnings: ['the prefix limit of ipv6/unicast was last refreshed 2026-01-15: older than 180 days'],
    text: `bgp {
  router-id 10.0.0.1
  session { asn { local 64500; } }
  peer edge {
    connection { local { ip 10.0.0.1; } remote { ip 10.0.0.2; } }
    session {
      asn { remote 64501; }
      family {
        ipv4/unicast { prefix { maximum 100; warning 80; teardown false; updated 2026-11-01; } }
        ipv6/unicast { prefix { maximum 100; idle-timeout 300; updated 2026-01-15; } }
      }
    }
  }
}
`,
  },
  {
    name: 'a default route for a customer',
    peers: 1,
    text: `bgp {
  router-id 10.0.0.1
  session { asn { local 64500; } }
  peer customer {
    connection { local { ip 10.0.0.1; } remote { ip 10.0.0.2; } }
    session { asn { remote 64501; } family { ipv4/unicast { default-originate true; prefix { maximum 100; } } } }
  }
}
`,
  },
  {
    name: 'a migration from one AS to another',
    peers: 1,
    text: `bgp {
  router-id 10.0.0.1
  session { asn { local 64500; } }
  peer old {
    connection { local { ip 10.0.0.1; } remote { ip 10.0.0.2; } }
    session {
      asn { local 64400; remote 64501; local-options [ no-prepend replace-as ]; }
      as-override true
      router-id 10.0.0.99
      community { send [ standard large ]; }
      family { ipv4/unicast { prefix { maximum 100; } } }
    }
  }
}
`,
  },
  {
    name: 'AS numbers of four octets',
    peers: 1,
    text: `bgp {
  router-id 10.0.0.1
  session { asn { local 4200000000; } capability { asn4 require; } }
  peer big {
    connection { local { ip 10.0.0.1; } remote { ip 10.0.0.2; } }
    session { asn { remote 4294967295; } family { ipv4/unicast { prefix { maximum 100; } } } }
  }
}
`,
  },
  {
    name: 'filters of every kind',
    peers: 1,
    text: `bgp {
  router-id 10.0.0.1
  session { asn { local 64500; } }
  policy {
    prefix-list SANE {
      entry 10.0.0.0/8 { action reject; }
      entry 0.0.0.0/0 { ge 8; le 24; }
    }
    as-path-list SHORT { entry "^[0-9]+( [0-9]+)?( [0-9]+)?$" { action accept; } }
    community-match BLACKHOLE { entry blackhole { type standard; action reject; } entry 64500:1 { } }
    modify PREFER { set { local-preference 200; med 0; origin igp; as-path-prepend 2; } }
    loop-detection LOOSE { allow-own-as 1; }
  }
  filter { import [ SANE ]; }
  peer edge {
    connection { local { ip 10.0.0.1; } remote { ip 10.0.0.2; } }
    session { asn { remote 64501; } family { ipv4/unicast { prefix { maximum 100; } } } }
    filter { import [ as-path-list:SHORT loop-detection:LOOSE inactive:BLACKHOLE modify:PREFER ]; export [ bgp-filter-prefix:SANE ]; }
  }
}
`,
  },
  {
    name: 'community sets, in and out',
    peers: 1,
    text: `bgp {
  router-id 10.0.0.1
  session { asn { local 64500; } }
  community {
    standard FROM-PEER { value [ 64500:100 64500:101 ]; }
    large INTERNAL { value 64500:1:1; }
    extended RT { value [ target:64500:1 ]; }
  }
  filter { egress { community { strip [ INTERNAL ]; } } }
  peer edge {
    connection { local { ip 10.0.0.1; } remote { ip 10.0.0.2; } }
    session { asn { remote 64501; } family { ipv4/unicast { prefix { maximum 100; } } } }
    filter { ingress { community { tag [ FROM-PEER ]; } } }
  }
}
`,
  },
  {
    name: 'timers at their ends',
    peers: 2,
    text: `bgp {
  router-id 10.0.0.1
  session { asn { local 64500; } family { ipv4/unicast { prefix { maximum 100; } } } }
  connection local ip 10.0.0.1
  peer slow { connection { remote { ip 10.0.0.2; } } session { asn { remote 1; } } timer { receive-hold-time 65535; send-hold-time 65535; connect-retry 65535; } }
  peer never { connection { remote { ip 10.0.0.3; } } session { asn { remote 2; } } timer { receive-hold-time 0; send-hold-time 0; } }
}
`,
  },
  {
    name: 'a session over link-local addresses, watched by BFD',
    peers: 1,
    warnings: ['connection/link-local is not available', 'connection/bfd is not available'],
    text: `bgp {
  router-id 10.0.0.1
  session { asn { local 64500; } }
  peer fabric {
    connection { local { ip fe80::1; } remote { ip fe80::2; } link-local true; bfd { mode single-hop; profile fast; interface eth0; } }
    session { asn { remote 64501; } link-local fe80::1; family { ipv6/unicast { prefix { maximum 100; } } } }
  }
}
`,
  },
  {
    name: 'who we are',
    peers: 2,
    text: `system { host edge1; domain $ZONE; }
bgp {
  router-id 10.0.0.1
  session { asn { local 64500; } family { ipv4/unicast { prefix { maximum 100; } } } capability { hostname; software-version enable; } }
  connection { local { ip 10.0.0.1; } }
  peer a { connection { remote { ip 10.0.0.2; } } session { asn { remote 1; } } }
  peer b { connection { remote { ip 10.0.0.3; } } session { asn { remote 2; } capability { hostname { host other; } } } }
}
`,
  },
  {
    name: 'families that were not agreed on are let pass',
    peers: 1,
    text: `bgp {
  router-id 10.0.0.1
  session { asn { local 64500; } }
  peer edge {
    connection { local { ip 10.0.0.1; } remote { ip 10.0.0.2; } }
    session { asn { remote 64501; } family { ipv4/unicast { prefix { maximum 100; } } ignore-mismatch enable; } }
  }
}
`,
  },
  {
    name: 'a file without bgp',
    peers: 0,
    text: 'plugin { external helper { run "./helper"; } }\nenvironment { log { level info; backend stderr; } }\n',
  },
  { name: 'nothing', peers: 0, warnings: ['the configuration is empty'], text: '\n# nothing yet\n\n' },
  {
    name: 'peers that are not finished',
    peers: 1,
    warnings: ['incomplete peer later', 'incomplete peer soon'],
    text: `bgp {
  router-id 10.0.0.1
  session { asn { local 64500; } family { ipv4/unicast { prefix { maximum 100; } } } }
  connection { local { ip 10.0.0.1; } }
  peer now { connection { remote { ip 10.0.0.2; } } session { asn { remote 64501; } } }
  peer later { session { asn { remote 64502; } } }
  peer soon { connection { remote { ip 10.0.0.3; } } }
}
`,
  },
  {
    name: 'everything switched off somewhere',
    peers: 1,
    text: `inactive: plugin { external gone { run "./gone"; } }
bgp {
  router-id 10.0.0.1
  session { asn { local 64500; } }
  inactive: multipath { maximum-paths 4; }
  inactive: group spare { peer s { } }
  peer edge {
    inactive: description "not yet"
    connection { local { ip 10.0.0.1; inactive: port 1179; } remote { ip 10.0.0.2; } }
    session {
      asn { remote 64501; }
      family { ipv4/unicast { prefix { maximum 100; } } inactive: ipv6/unicast { prefix { maximum 100; } } }
      inactive: capability { route-refresh; }
    }
    inactive: process gone { receive [ update ]; }
    inactive: update { nlri { ipv4/unicast add 10.0.0.0/8; } }
    filter { import [ inactive:nobody ]; }
  }
}
`,
  },
  {
    name: 'set lines',
    peers: 1,
    text: `# the same as a block
set bgp router-id 10.0.0.1
set bgp session asn local 64500
set bgp peer edge connection local ip 10.0.0.1
set bgp peer edge connection remote ip 10.0.0.2
set bgp peer edge session asn remote 64501
set bgp peer edge session family ipv4/unicast prefix maximum 100
set bgp peer edge description "with blanks"
set bgp peer edge update nlri ipv4/unicast add 10.0.0.0/8
set bgp peer edge update attribute next-hop self
inactive bgp peer edge description
`,
  },
  {
    name: 'set lines with a group and a binding',
    peers: 2,
    text: `set plugin external inject run "./inject -v"
set bgp router-id 10.0.0.1
set bgp session asn local 64500
set bgp group lab connection local ip 10.0.0.1
set bgp group lab session family ipv4/unicast prefix maximum 100
set bgp group lab session capability route-refresh
set bgp group lab process inject receive [ update state ]
set bgp group lab process inject send update
set bgp group lab peer a connection remote ip 10.0.0.2
set bgp group lab peer a session asn remote 64501
set bgp group lab peer b connection remote ip 10.0.0.3
set bgp group lab peer b session asn remote 64502
set bgp group lab peer b session add-path ipv4/unicast send
set bgp group lab peer c
delete bgp group lab peer c
`,
  },
  {
    name: 'set lines with their history',
    peers: 1,
    text: `#ann @cli %2026-05-01T10:00:00Z set bgp router-id 10.0.0.1
#ann @cli %2026-05-01T10:00:01Z ^64499 set bgp session asn local 64500
set bgp peer edge connection local ip 10.0.0.1
#bob @web %2026-05-02T10:00:00Z ^"10.0.0.9" set bgp peer edge connection remote ip 10.0.0.2
set bgp peer edge session asn remote 64501
set bgp peer edge session family ipv4/unicast prefix maximum 100
`,
  },
  {
    name: 'router functions beside BGP',
    peers: 0,
    warnings: ['interface is not available', 'static is not available', 'sysctl is not available', 'bfd is not available'],
    text: `interface { eth0 { unit 0 { address 10.0.0.1/24; } } }
static { route 10.1.0.0/16 { next-hop 10.0.0.254; } }
sysctl { net.ipv4.ip_forward 1; }
bfd { profile fast { interval 50; multiplier 3; } }
`,
  },
  {
    name: 'a looking glass that only listens',
    peers: 2,
    text: `bgp {
  router-id 10.0.0.1
  session { asn { local 64500; } }
  timer { receive-hold-time 180; }
  group feeds {
    connection { local { ip 0.0.0.0; } remote { connect false; } }
    session { family { ipv4/unicast { prefix { maximum 2000000; teardown false; } } ipv6/unicast { prefix { maximum 500000; teardown false; } } } }
    behavior { manual-eor true; }
    session { community { send none; } }
    peer feed-a { connection { remote { ip 192.0.2.10; } } session { asn { remote 64510; } } }
    peer feed-b { connection { remote { ip 192.0.2.11; } } session { asn { remote 64511; } } }
  }
}
`,
  },
  {
    name: 'a multi-homed site',
    peers: 2,
    text: `bgp {
  router-id 203.0.113.1
  session { asn { local 64510; } }
  multipath { maximum-paths 2; relax-as-path true; }
  policy {
    prefix-list OURS { entry 203.0.113.0/24 { } }
    modify BACKUP { set { as-path-prepend 3; } }
  }
  update { attribute { next-hop self; } nlri { ipv4/unicast add 203.0.113.0/24; } }
  group upstreams {
    session { family { ipv4/unicast { mode require; prefix { maximum 1000000; idle-timeout 600; } } } }
    filter { export [ prefix-list:OURS ]; }
    peer first { connection { local { ip 192.0.2.1; } remote { ip 192.0.2.2; } } session { asn { remote 64496; } } }
    peer second {
      connection { local { ip 198.51.100.1; } remote { ip 198.51.100.2; } }
      session { asn { remote 64497; } }
      filter { export [ modify:BACKUP ]; }
    }
  }
}
`,
  },
  {
    name: 'one program for several peers, chosen by pattern',
    peers: 1,
    text: `plugin { external probe-a { run "./a"; } external probe-b { run "./b"; } external other { run "./c"; } }
bgp {
  router-id 10.0.0.1
  session { asn { local 64500; } }
  process probes { processes-match [ "^probe-" ]; receive [ state ]; }
  peer edge {
    connection { local { ip 10.0.0.1; } remote { ip 10.0.0.2; } }
    session { asn { remote 64501; } family { ipv4/unicast { prefix { maximum 100; } } } }
    process both { processes [ probe-a other ]; receive [ update ]; neighbor-changes; }
  }
}
`,
  },
  {
    name: 'written by hand in a hurry',
    peers: 1,
    text: `bgp{router-id 10.0.0.1;session{asn{local 64500;}}peer edge{connection{local{ip 10.0.0.1;}remote{ip 10.0.0.2;}}session{asn{remote 64501;}family{ipv4/unicast{prefix{maximum 100;}}}}}}`,
  },
  {
    name: 'braces on lines of their own',
    peers: 1,
    text: `bgp
{
  router-id 10.0.0.1
  session
  {
    asn { local 64500; }
  }
  peer edge
  {
    connection
    { local { ip 10.0.0.1; } remote { ip 10.0.0.2; } }
    session { asn { remote 64501; } family { ipv4/unicast { prefix { maximum 100; } } } }
  }
}
`,
  },
  {
    name: 'blocks in pieces',
    peers: 1,
    text: `bgp { router-id 10.0.0.1; }
bgp { session { asn { local 64500; } } }
bgp {
  peer edge {
    connection { local { ip 10.0.0.1; } }
    session { asn { remote 64501; } }
    connection { remote { ip 10.0.0.2; } }
    session { family { ipv4/unicast { prefix { maximum 100; } } } }
    timer receive-hold-time 30
    timer connect-retry 10
  }
}
`,
  },
  {
    name: 'tables and batches',
    peers: 1,
    warnings: ['rib/adj is not available', 'rib/out/max-batch-size is not available'],
    text: `bgp {
  router-id 10.0.0.1
  session { asn { local 64500; } }
  peer edge {
    connection { local { ip 10.0.0.1; } remote { ip 10.0.0.2; } }
    session { asn { remote 64501; } family { ipv4/unicast { prefix { maximum 100; } } } }
    rib { adj { in true; out false; } out { group-updates true; auto-commit-delay 0; max-batch-size 500; } }
  }
}
`,
  },
  {
    name: 'plugins that this version lacks',
    peers: 1,
    warnings: ['bgp-aigp is not available', 'bgp-nlri-evpn is part of Zest itself'],
    text: `plugin { external pools { use bgp-aigp; } external evpn { use bgp-nlri-evpn; } }
bgp {
  router-id 10.0.0.1
  session { asn { local 64500; } }
  peer edge {
    connection { local { ip 10.0.0.1; } remote { ip 10.0.0.2; } }
    session { asn { remote 64501; } family { l2vpn/evpn { prefix { maximum 100; } } } }
    process pools { send [ update ]; }
  }
}
`,
  },
];

/** What is done to a right text, and what is said of it: the first fault stands at the place of `at` in the text. */
export interface Mistake {
  readonly name: string;
  readonly of: string;
  readonly replace: string;
  readonly by: string;
  /** Where in `by` the first fault stands. */
  readonly at: string;
  readonly says: string;
}

export const MISTAKES: readonly Mistake[] = [
  {
    name: 'a misspelt block',
    of: 'a first session',
    replace: 'connection {',
    by: 'conection {',
    at: 'conection',
    says: 'unknown field in peer: conection (did you mean "connection"?)',
  },
  {
    name: 'a misspelt root',
    of: 'an injector driven by a program',
    replace: 'plugin {',
    by: 'plugins {',
    at: 'plugins',
    says: 'unknown top-level keyword: plugins (did you mean "plugin"?)',
  },
  {
    name: 'a misspelt leaf',
    of: 'a first session',
    replace: 'maximum 10',
    by: 'maximun 10',
    at: 'maximun',
    says: 'unknown field in prefix: maximun (did you mean "maximum"?)',
  },
  {
    name: 'the old form of an address',
    of: 'a first session',
    replace: 'remote { ip 192.0.2.2; }',
    by: 'remote 192.0.2.2;',
    at: '192.0.2.2',
    says: 'unknown field in remote: 192.0.2.2',
  },
  {
    name: 'the old form of an AS',
    of: 'a first session',
    replace: 'asn { remote 64496; }',
    by: 'peer-as 64496;',
    at: 'peer-as',
    says: 'unknown field in session: peer-as',
  },
  {
    name: 'an address with five parts',
    of: 'a first session',
    replace: 'ip 192.0.2.2',
    by: 'ip 192.0.2.2.2',
    at: '192.0.2.2.2',
    says: '"192.0.2.2.2" is not an IPv4 address or an IPv6 address',
  },
  {
    name: 'a semicolon too few',
    of: 'a first session',
    replace: 'maximum 10;',
    by: 'maximum 10 ',
    at: '}',
    says: 'expected ";", found "}"',
  },
  {
    name: 'a limit too few',
    of: 'a first session',
    replace: 'prefix { maximum 10; }',
    by: 'mode enable;',
    at: '',
    says: 'ipv4/unicast: prefix maximum is mandatory',
  },
  {
    name: 'a warning past the limit',
    of: 'a route server for an exchange',
    replace: 'warning 18000',
    by: 'warning 28000',
    at: '28000',
    says: 'prefix warning 28000 must be below prefix maximum 20000',
  },
  {
    name: 'a family nobody knows',
    of: 'many families',
    replace: 'l2vpn/evpn',
    by: 'l2vpn/evnp',
    at: 'l2vpn/evnp',
    says: 'did you mean "l2vpn/evpn"?',
  },
  {
    name: 'a mode nobody knows',
    of: 'many families',
    replace: 'mode ignore',
    by: 'mode ignored',
    at: 'ignored',
    says: 'did you mean "ignore"?',
  },
  {
    name: 'a hold time of two seconds',
    of: 'blocks in pieces',
    replace: 'receive-hold-time 30',
    by: 'receive-hold-time 2',
    at: '2',
    says: 'receive-hold-time: 2 is out of range (0 or 3..65535)',
  },
  {
    name: 'a send hold time of a minute',
    of: 'timers at their ends',
    replace: 'send-hold-time 65535',
    by: 'send-hold-time 60',
    at: '60',
    says: 'send-hold-time: 60 is out of range (0 or 480..65535)',
  },
  {
    name: 'an event nobody knows',
    of: 'an injector driven by a program',
    replace: 'receive [ state update',
    by: 'receive [ state updates',
    at: 'updates',
    says: 'did you mean "update"?',
  },
  {
    name: 'all events',
    of: 'bindings of a group, refined by a peer',
    replace: 'receive [ state update ]',
    by: 'receive [ all ]',
    at: 'all',
    says: '"all" is not a registered event kind',
  },
  {
    name: 'a message nobody sends',
    of: 'an injector driven by a program',
    replace: 'send [ update refresh ]',
    by: 'send [ update refrsh ]',
    at: 'refrsh',
    says: '"refrsh" is not a registered send kind (did you mean "refresh"?)',
  },
  {
    name: 'a plugin nobody defined',
    of: 'an injector driven by a program',
    replace: 'process inject {',
    by: 'process injector {',
    at: 'process',
    says: 'undefined plugin in process: injector (did you mean "inject"?)',
  },
  {
    name: 'a refresh nobody answers',
    of: 'an injector driven by a program',
    replace: 'send [ update refresh ]',
    by: 'send [ refresh ]',
    at: '',
    says: 'route-refresh requires process with send [ update ]',
  },
  {
    name: 'a capability of old',
    of: 'AS numbers of four octets',
    replace: 'asn4 require;',
    by: 'asn4 require; aigp enable;',
    at: 'aigp',
    says: 'unknown field in capability: aigp',
  },
  {
    name: 'a filter nobody defined',
    of: 'filters of every kind',
    replace: 'import [ SANE ]',
    by: 'import [ SAEN ]',
    at: 'SAEN',
    says: 'unknown filter in import: SAEN (did you mean "SANE"?)',
  },
  {
    name: 'an address twice',
    of: 'a route server for an exchange',
    replace: 'ip 10.9.0.12',
    by: 'ip 10.9.0.11',
    at: '10.9.0.11',
    says: 'duplicate peer remote address: 10.9.0.11 (peers m65011 and m65012)',
  },
  {
    name: 'a name twice',
    of: 'a route reflector with two clusters',
    replace: 'peer w1',
    by: 'peer e1',
    at: 'peer',
    says: 'duplicate peer name: e1',
  },
  {
    name: 'a name that is a command',
    of: 'a default route for a customer',
    replace: 'peer customer',
    by: 'peer statistics',
    at: 'statistics',
    says: '"statistics" is not a peer name',
  },
  {
    name: 'a role nobody has',
    of: 'roles of every kind',
    replace: 'import customer',
    by: 'import costumer',
    at: 'costumer',
    says: 'did you mean "customer"?',
  },
  {
    name: 'a next hop the session cannot carry',
    of: 'IPv4 routes over IPv6 next hops',
    replace: 'nexthop { ipv4/unicast ipv6; ipv4/mpls-vpn ipv6 enable; }',
    by: 'asn4 enable;',
    at: '',
    says: 'next-hop 2001:db8::1 cannot be carried for ipv4/unicast',
  },
  {
    name: 'a date that is none',
    of: 'prefix limits with a date',
    replace: 'updated 2026-11-01',
    by: 'updated 2026-13-01',
    at: '2026-13-01',
    says: '"2026-13-01" is not a date',
  },
  {
    name: 'a brace too few',
    of: 'blocks in pieces',
    replace: 'connection { remote { ip 10.0.0.2; } }',
    by: 'connection { remote { ip 10.0.0.2; }',
    at: '',
    says: 'is not closed',
  },
  {
    name: 'a brace too many',
    of: 'blocks in pieces',
    replace: 'timer connect-retry 10\n  }\n}',
    by: 'timer connect-retry 10\n  }\n}\n}',
    at: '',
    says: 'a "}" closes nothing',
  },
  {
    name: 'a set line with a typo',
    of: 'set lines',
    replace: 'set bgp router-id',
    by: 'set bgp ruoter-id',
    at: 'ruoter-id',
    says: 'unknown field in bgp: ruoter-id (did you mean "router-id"?)',
  },
  {
    name: 'a verb with a typo',
    of: 'set lines',
    replace: 'set bgp router-id',
    by: 'ste bgp router-id',
    at: 'ste',
    says: 'did you mean "set"?',
  },
  {
    name: 'a delete of nothing',
    of: 'set lines with a group and a binding',
    replace: 'delete bgp group lab peer c',
    by: 'delete bgp group lab peer d',
    at: 'peer',
    says: 'peer d is not there',
  },
];
