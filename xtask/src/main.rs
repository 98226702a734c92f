mod client_cost;
use clap::Parser;
#[derive(Parser)]
enum X { BenchClient{ #[command(flatten)] c: client_cost::ClientCost, #[arg(long)] socket: std::path::PathBuf }, ClientWorker(client_cost::ClientWorker) }
fn main() -> anyhow::Result<()> { match X::parse() { X::BenchClient{c,socket} => client_cost::run(&c,&socket), X::ClientWorker(w)=>client_cost::run_worker(&w) } }
