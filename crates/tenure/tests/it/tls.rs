//! Encrypted connections: what each `sslmode` promises, against a server with a certificate for `localhost`.

use tenure::core::codes;
use tenure_cluster::Cluster;

use crate::own_cluster::own_cluster;

fn path(name: &str) -> String {
    format!("{}/tests/tls/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address").port()
}

/// Hands a file to the server, readable for nobody else.
async fn give(client: &tokio_postgres::Client, name: &str) {
    let text = std::fs::read_to_string(path(name)).expect("a test certificate");
    let lines: Vec<String> = text.lines().map(|line| format!("('{line}')")).collect();
    let copy = format!(
        "copy (values {}) to program 'umask 077 && cat > {name}'",
        lines.join(", ")
    );
    client.batch_execute(&copy).await.expect("the server writes the file");
}

#[tokio::test]
async fn each_sslmode_promises_what_libpq_promises() {
    let (_directory, mut wanted) = own_cluster();
    wanted.tcp_port = Some(free_port());
    let cluster = Cluster::start(wanted).await.expect("a server");
    let by_address = cluster.tcp_url("postgres").expect("a port was asked for");
    let by_name = by_address.replace("127.0.0.1", "localhost");
    let outcome = async |url: &str, parameters: &str| {
        let client = tenure::pool::connect(&format!("{url}?{parameters}")).await;
        match client {
            Ok(client) => {
                let ssl = "select ssl::text from pg_stat_ssl where pid = pg_backend_pid()";
                client.query_one(ssl, &[]).await.expect("an answer").get::<_, String>(0)
            }
            Err(error) => error.code().to_owned(),
        }
    };
    let tls = codes::DATABASE_TLS.name;
    // A server without encryption.
    assert_eq!(outcome(&by_name, "").await, "false");
    assert_eq!(outcome(&by_name, "sslmode=require").await, tls);

    let admin = tenure::pool::connect(&cluster.url("postgres")).await.expect("connects");
    give(&admin, "server.pem").await;
    give(&admin, "server.key").await;
    for setting in [
        "ssl_cert_file = 'server.pem'",
        "ssl_key_file = 'server.key'",
        "ssl = on",
    ] {
        let statement = format!("alter system set {setting}");
        admin.batch_execute(&statement).await.expect("a setting");
    }
    admin.batch_execute("select pg_reload_conf()").await.expect("reloads");
    // The server reloads when it gets to it; each try is a connection, so this does not spin.
    let patience = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while outcome(&by_name, "sslmode=require").await != "true" {
        assert!(
            std::time::Instant::now() < patience,
            "the server does not take its certificate"
        );
    }

    let (root, other) = (
        format!("sslrootcert={}", path("root.pem")),
        format!("sslrootcert={}", path("other.pem")),
    );
    for (url, parameters, expected) in [
        (&by_name, "sslmode=disable".to_owned(), "false"),
        (&by_name, String::new(), "true"),
        (&by_address, "sslmode=require".to_owned(), "true"),
        (&by_address, format!("sslmode=require&{root}"), "true"),
        (&by_address, format!("sslmode=require&{other}"), tls),
        (&by_address, format!("sslmode=verify-ca&{root}"), "true"),
        (&by_name, format!("sslmode=verify-ca&{other}"), tls),
        (&by_name, "sslmode=verify-ca&sslrootcert=system".to_owned(), tls),
        (&by_name, format!("sslmode=verify-full&{root}"), "true"),
        (&by_address, format!("sslmode=verify-full&{root}"), tls),
        (&by_name, format!("sslmode=verify-full&{other}"), tls),
    ] {
        assert_eq!(outcome(url, &parameters).await, expected, "{parameters}");
    }
    cluster.stop().await.expect("stops");
}
