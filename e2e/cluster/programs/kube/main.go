// Command kube holds every server of a small Kubernetes cluster in one binary, because they share
// nearly all of their packages: one link step and 145 MB instead of eight programs and 600 MB.
//
// It runs the program that its own file name says (so it is meant to be linked to under those
// names), or else the one that its first argument says.
package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	_ "time/tzdata" // CronJobs name time zones; the machines may not have a database of them

	"github.com/coredns/coredns/coremain"
	// The plugins are listed here, because coredns/core/plugin brings every cloud's SDK with it.
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/template"
	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// corednsFlags are the global flags that CoreDNS registers when it is imported.
var corednsFlags = []string{"conf", "plugins", "pidfile", "version", "quiet", "dns.port", "p"}

var programs = map[string]func(){
	"etcd":                    func() { etcdmain.Main(os.Args) },
	"coredns":                 coremain.Run,
	"kube-apiserver":          runCobra(apiserver.NewAPIServerCommand),
	"kube-controller-manager": runCobra(controllers.NewControllerManagerCommand),
	"kube-scheduler":          runCobra(func() *cobra.Command { return scheduler.NewSchedulerCommand() }),
	"kube-proxy":              runCobra(proxy.NewProxyCommand),
	"kubelet":                 runCobra(func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) }),
	"kubectl":                 runKubectl,
}

func main() {
	name := filepath.Base(os.Args[0])
	if programs[name] == nil && len(os.Args) > 1 {
		os.Args = os.Args[1:]
		name = os.Args[0]
	}
	run, known := programs[name]
	if !known {
		names := slices.Sorted(maps.Keys(programs))
		fmt.Fprintf(os.Stderr, "usage: kube PROGRAM [ARGUMENTS], where PROGRAM is one of %v\n", names)
		os.Exit(2)
	}
	if name != "coredns" {
		hideGlobalFlags(corednsFlags)
	}
	run()
}

func runCobra(command func() *cobra.Command) func() {
	return func() { os.Exit(cli.Run(command())) }
}

func runKubectl() {
	logs.GlogSetter(kubectl.GetLogVerbosity(os.Args))
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
	}
}

// hideGlobalFlags takes flags away from the programs that they are not meant for. kube-proxy adopts
// every global flag: with CoreDNS's "version" in the way of its own, "kube-proxy --version" would
// start a real proxy, which then removes the packet filter tables of the host that it runs on.
func hideGlobalFlags(hidden []string) {
	all := flag.CommandLine
	flag.CommandLine = flag.NewFlagSet(os.Args[0], flag.ExitOnError)
	all.VisitAll(func(f *flag.Flag) {
		if !slices.Contains(hidden, f.Name) {
			flag.CommandLine.Var(f.Value, f.Name, f.Usage)
		}
	})
}
